package status

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

type statusOf = autoscalingv2.HorizontalPodAutoscalerStatus

// of is the status in the form that is compared.
func of(status *statusOf) *observehorizontal.Status {
	s := observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{Status: *status}).Status()
	return &s
}

func shown() *statusOf {
	generation, percent, scaled := int64(3), int32(50), metav1.NewTime(time.Unix(1000, 0))
	quantity := func(text string) *resource.Quantity { q := resource.MustParse(text); return &q }
	return &statusOf{
		ObservedGeneration: &generation, CurrentReplicas: 2, DesiredReplicas: 3, LastScaleTime: &scaled,
		Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound", Message: "from cpu",
			LastTransitionTime: scaled,
		}},
		CurrentMetrics: []autoscalingv2.MetricStatus{
			{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{Name: "cpu",
				Current: autoscalingv2.MetricValueStatus{AverageUtilization: &percent, AverageValue: quantity("100m")}}},
			{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{
				Current: autoscalingv2.MetricValueStatus{Value: quantity("1000")}}},
		},
	}
}

func TestChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		edit          func(*statusOf)
		urgent, moved bool
	}{
		"nothing":               {func(*statusOf) {}, false, false},
		"the count":             {func(s *statusOf) { s.CurrentReplicas++ }, true, false},
		"the count wanted":      {func(s *statusOf) { s.DesiredReplicas++ }, true, false},
		"a scale write":         {func(s *statusOf) { s.LastScaleTime = nil }, true, false},
		"the generation":        {func(s *statusOf) { s.ObservedGeneration = nil }, true, false},
		"a condition turns":     {func(s *statusOf) { s.Conditions[0].Status = corev1.ConditionFalse }, true, false},
		"a condition's reason":  {func(s *statusOf) { s.Conditions[0].Reason = "InvalidSelector" }, true, false},
		"a condition's message": {func(s *statusOf) { s.Conditions[0].Message = "from memory" }, false, true},
		"a new condition":       {func(s *statusOf) { s.Conditions = nil }, true, false},
		"a metric fails":        {func(s *statusOf) { s.CurrentMetrics[0] = autoscalingv2.MetricStatus{} }, true, false},
		"noise":                 {func(s *statusOf) { s.CurrentMetrics[1].External.Current.Value.Set(1019) }, false, false},
		"a number rises":        {func(s *statusOf) { s.CurrentMetrics[1].External.Current.Value.Set(1021) }, false, true},
		"a number falls": {func(s *statusOf) { s.CurrentMetrics[0].Resource.Current.AverageValue.SetMilli(97) }, false,
			true},
		"a number is gone": {func(s *statusOf) { s.CurrentMetrics[0].Resource.Current.AverageValue = nil }, false, true},
		"noise in percent": {func(s *statusOf) { *s.CurrentMetrics[0].Resource.Current.AverageUtilization = 51 }, false,
			false},
		"the utilization": {func(s *statusOf) { *s.CurrentMetrics[0].Resource.Current.AverageUtilization = 52 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := shown()
			tt.edit(after)
			urgent := Urgent(of(shown()), of(after))
			if urgent != tt.urgent {
				t.Errorf("urgent %v, want %v", urgent, tt.urgent)
			}
			if moved := !urgent && Moved(of(shown()), of(after)); moved != tt.moved {
				t.Errorf("moved %v, want %v", moved, tt.moved)
			}
		})
	}
}

// TestAnotherAutoscalerIsUrgent: that the target has another autoscaler, or no longer, is no noise, although the
// condition stays True: plimsoll migrate waits for it.
func TestAnotherAutoscalerIsUrgent(t *testing.T) {
	able := func(reason string) *statusOf {
		s := shown()
		s.Conditions[0].Type, s.Conditions[0].Reason = autoscalingv2.AbleToScale, reason
		return s
	}
	for _, c := range []struct {
		before, after string
		isUrgent      bool
	}{
		{"ReadyForNewScale", statusreport.AnotherAutoscaler, true},
		{statusreport.AnotherAutoscaler, "ReadyForNewScale", true},
		{"ReadyForNewScale", "ScaleDownStabilized", false},
		{statusreport.AnotherAutoscaler, statusreport.AnotherAutoscaler, false},
	} {
		if got := Urgent(of(able(c.before)), of(able(c.after))); got != c.isUrgent {
			t.Errorf("%s, then %s: urgent %v", c.before, c.after, got)
		}
	}
}

// TestTurned: at the edge of the tolerance or of a limit; but that scaling is not possible,
// or possible again, is urgent.
func TestTurned(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for name, tt := range map[string]struct {
		kind           autoscalingv2.HorizontalPodAutoscalerConditionType
		before, after  corev1.ConditionStatus
		reason         string
		urgent, turned bool
	}{
		"the reason why it can scale": {autoscalingv2.AbleToScale, yes, yes, "ScaleDownStabilized", false, true},
		"it cannot scale":             {autoscalingv2.AbleToScale, yes, no, "FailedGetScale", true, true},
		"it can scale again":          {autoscalingv2.AbleToScale, no, yes, "ReadyForNewScale", true, true},
		"why it cannot scale":         {autoscalingv2.AbleToScale, no, no, "FailedUpdateScale", true, true},
		"a limit binds":               {autoscalingv2.ScalingLimited, no, yes, "TooManyReplicas", false, true},
		"a limit ceases to bind":      {autoscalingv2.ScalingLimited, yes, no, "DesiredWithinRange", false, true},
		"metrics fail":                {autoscalingv2.ScalingActive, yes, no, "FailedGetResourceMetric", true, true},
		"nothing":                     {autoscalingv2.ScalingActive, yes, yes, "Before", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			status := func(s corev1.ConditionStatus, reason string) *statusOf {
				return &statusOf{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: tt.kind, Status: s,
					Reason: reason}}}
			}
			before, after := status(tt.before, "Before"), status(tt.after, tt.reason)
			urgent, turned := Urgent(of(before), of(after)), Turned(of(before), of(after))
			if urgent != tt.urgent || turned != tt.turned {
				t.Errorf("urgent %v, turned %v, want %v, %v", urgent, turned, tt.urgent, tt.turned)
			}
		})
	}
}

// TestTurns: parts may turn back and forth, and counts are no parts.
func TestTurns(t *testing.T) {
	for name, tt := range map[string]struct {
		edit   func(*statusOf)
		was    []Part
		is     []Part
		areAll bool
	}{
		"nothing": {func(*statusOf) {}, nil, nil, true},
		"a condition": {func(s *statusOf) { s.Conditions[0].Status, s.Conditions[0].Reason = corev1.ConditionFalse, "Failed" },
			[]Part{{"ScalingActive", "True ValidMetricFound"}}, []Part{{"ScalingActive", "False Failed"}}, true},
		"a metric fails": {func(s *statusOf) { s.CurrentMetrics[0] = autoscalingv2.MetricStatus{} },
			[]Part{{"currentMetrics 0", "Resource"}}, []Part{{"currentMetrics 0", ""}}, true},
		"no metrics": {func(s *statusOf) { s.CurrentMetrics = nil },
			[]Part{{"currentMetrics", "2"}}, []Part{{"currentMetrics", "0"}}, true},
		"the count":         {func(s *statusOf) { s.CurrentReplicas++ }, nil, nil, false},
		"the generation":    {func(s *statusOf) { s.ObservedGeneration = nil }, nil, nil, false},
		"a new condition":   {func(s *statusOf) { s.Conditions = nil }, nil, nil, false},
		"a condition again": {func(s *statusOf) { s.Conditions[0].LastTransitionTime = metav1.Time{} }, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			after := shown()
			tt.edit(after)
			was, is, areAll := Turns(of(shown()), of(after))
			if !slices.Equal(was, tt.was) || !slices.Equal(is, tt.is) || areAll != tt.areAll {
				t.Errorf("%v, %v, all: %v", was, is, areAll)
			}
		})
	}
}
