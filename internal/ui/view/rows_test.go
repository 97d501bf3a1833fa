package view

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

func hpaCondition(kind, status, reason string) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(kind), Status: corev1.ConditionStatus(status), Reason: reason,
		Message: "the message of " + reason,
	}
}

// TestHealth: the worst condition determines an HPA's health, with the condition's text.
func TestHealth(t *testing.T) {
	able := hpaCondition("AbleToScale", "True", "ReadyForNewScale")
	for name, tt := range map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		health     Health
		says       string
	}{
		"no status": {nil, Unknown, noStatus},
		"all well":  {[]autoscalingv2.HorizontalPodAutoscalerCondition{able}, OK, ""},
		"no metric": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooManyReplicas"), hpaCondition("ScalingActive", "False", "FailedGetResourceMetric")},
			Problem, "the message of FailedGetResourceMetric"},
		"switched off": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingActive", "False", "ScalingDisabled")}, OK, ""},
		"at its maximum": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooManyReplicas")}, Warning, "the message of TooManyReplicas"},
		"at its minimum": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooFewReplicas")}, OK, ""},
	} {
		row := OfHPA(&autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: tt.conditions}})
		if row.Health != tt.health || row.Says != tt.says {
			t.Errorf("%s: %s %q, want %s %q", name, row.Health, row.Says, tt.health, tt.says)
		}
		if isKnown := row.Desired != nil; isKnown != (len(tt.conditions) > 0) {
			t.Errorf("%s: desired count known: %v", name, isKnown)
		}
	}
}

// TestUnreadCounts: the counts of a target whose scale could never be read are unknown, and not 0.
func TestUnreadCounts(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
		hpaCondition("AbleToScale", "False", "FailedGetScale")}
	if row := OfHPA(hpa); row.Desired != nil || row.Current != nil {
		t.Error("unread counts are shown")
	}
	hpa.Status.DesiredReplicas, hpa.Status.CurrentReplicas = 3, 2
	if row := OfHPA(hpa); row.Desired == nil || *row.Desired != 3 || *row.Current != 2 {
		t.Error("the counts that were read last are not shown")
	}
}

// TestUnsetCounts: a status has 0 if a count was never set. Running pods show that, unless the HPA may scale to zero
// and has scaled.
func TestUnsetCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		min              *int32
		desired, current int32
		hasScaled, want  bool
	}{
		"computed":                 {desired: 3, current: 3, want: true},
		"not yet computed":         {desired: 0, current: 3},
		"may be zero, not yet":     {min: ptr.To[int32](0), desired: 0, current: 3},
		"on its way to zero":       {min: ptr.To[int32](0), desired: 0, current: 3, hasScaled: true, want: true},
		"scaled to zero by hand":   {desired: 0, current: 0, want: true},
		"a minimum, and scaled":    {desired: 0, current: 2, hasScaled: true},
		"scaled to zero by itself": {min: ptr.To[int32](0), desired: 0, current: 0, hasScaled: true, want: true},
	} {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		hpa.Spec.MinReplicas = tt.min
		hpa.Status.DesiredReplicas, hpa.Status.CurrentReplicas = tt.desired, tt.current
		hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			hpaCondition("AbleToScale", "True", "SucceededGetScale"), hpaCondition("ScalingActive", "False", "FailedGetResourceMetric")}
		if tt.hasScaled {
			hpa.Status.LastScaleTime = ptr.To(metav1.Now())
		}
		if row := OfHPA(hpa); (row.Desired != nil) != tt.want || row.Current == nil || *row.Current != tt.current {
			t.Errorf("%s: desired %v, current %v", name, row.Desired, row.Current)
		}
	}
}

// TestPlainMessages: a row omits the words with which all of upstream's messages begin.
func TestPlainMessages(t *testing.T) {
	for message, want := range map[string]string{
		"the HPA was unable to compute the replica count: failed to get cpu utilization": "failed to get cpu utilization",
		"the WorkloadAutoscaler was unable to compute the replica count: no samples":     "no samples",
		"the HPA controller was unable to get the target's current scale: not found":     "not found",
		"the desired replica count is more than the maximum replica count":               "maxReplicas is reached, and the load asks for more",
		"the HPA target's scale is missing a selector":                                   "the HPA target's scale is missing a selector",
	} {
		if got := plain(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestOtherKinds: a WorkloadAutoscaler shows its current limits, a VPA its mode.
func TestOtherKinds(t *testing.T) {
	wla := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	wla.Spec.ScaleTargetRef.Kind, wla.Spec.ScaleTargetRef.Name, wla.Spec.MaxReplicas = "Deployment", "web", 10
	wla.Spec.Mode, wla.Status.EffectiveMaxReplicas = plimsollv1alpha1.ModePaused, ptr.To[int32](40)
	row := OfWLA(wla)
	if row.Target != "Deployment/web" || *row.Max != 40 || row.Mode != "Paused" || row.Health != Unknown || row.Desired != nil {
		t.Errorf("%+v", row)
	}
	vpa := &vpav1.VerticalPodAutoscaler{Status: vpav1.VerticalPodAutoscalerStatus{
		Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: "NoPodsMatched", Status: "True", Message: "no pods"}}}}
	if row := OfVPA(vpa); row.Health != Problem || row.Says != "no pods" || row.Target != "" {
		t.Errorf("%+v", row)
	}
}

// TestHealthOfWLA: mode Paused is no problem; waiting for the deletion of another autoscaler is a warning.
func TestHealthOfWLA(t *testing.T) {
	able := metav1.Condition{Type: "AbleToScale", Status: "False", Reason: "TargetHasAnotherAutoscaler"}
	for want, ready := range map[Health]metav1.Condition{
		OK:      {Type: "Ready", Status: "True", Reason: "Preview"},
		Warning: {Type: "Ready", Status: "False", Reason: "TargetHasAnotherAutoscaler"},
		Problem: {Type: "Ready", Status: "False", Reason: "FailedGetScale"},
	} {
		wla := &plimsollv1alpha1.WorkloadAutoscaler{}
		wla.Status.Conditions = []metav1.Condition{ready, able}
		if got := OfWLA(wla).Health; got != want {
			t.Errorf("%s: %v, want %v", ready.Reason, got, want)
		}
	}
}

// TestHostileRows: a row truncates texts of any length, because a page gets 10,000 rows, and omits values that are no
// numbers.
func TestHostileRows(t *testing.T) {
	long := strings.Repeat("\U0001f600", 300_000)
	metric := autoscalingv2.MetricIdentifier{Name: long}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: long, Name: long},
			Metrics: []autoscalingv2.MetricSpec{{External: &autoscalingv2.ExternalMetricSource{
				Metric: metric, Target: autoscalingv2.MetricTarget{Value: ptr.To(resource.MustParse("1"))}}}},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: "ScalingActive", Status: "False", Message: long}},
			CurrentMetrics: []autoscalingv2.MetricStatus{{External: &autoscalingv2.ExternalMetricStatus{
				Metric: metric, Current: autoscalingv2.MetricValueStatus{Value: ptr.To(resource.MustParse("2"))}}}},
		},
	}
	wla := &plimsollv1alpha1.WorkloadAutoscaler{}
	wla.Spec.Mode, wla.Status.Summary = plimsollv1alpha1.Mode(long), &plimsollv1alpha1.Summary{Metrics: long}
	wla.Status.Conditions = []metav1.Condition{{Type: "ScalingActive", Status: "False", Message: long}}
	vpa := &vpav1.VerticalPodAutoscaler{Spec: vpav1.VerticalPodAutoscalerSpec{
		UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: ptr.To(vpav1.UpdateMode(long))}}}
	for _, row := range []Row{OfHPA(hpa), OfWLA(wla), OfVPA(vpa)} {
		text, err := json.Marshal(row)
		if err != nil || len(text) > 10_000 || !utf8.Valid(text) || strings.Contains(string(text), "\ufffd") {
			t.Errorf("%s: %d bytes, %v", row.Kind, len(text), err)
		}
	}
	hpa.Status.CurrentMetrics[0].External.Current.Value = ptr.To(resource.MustParse("1e400"))
	if row := OfHPA(hpa); row.Load != nil {
		t.Errorf("an endless value: %+v", row.Load)
	}
}

// TestUnreadable: an object that cannot be read shows that, also if its status has earlier values.
func TestUnreadable(t *testing.T) {
	fine := []metav1.Condition{{Type: "ScalingActive", Status: "True"}}
	wla := &plimsollv1alpha1.WorkloadAutoscaler{Unreadable: "spec.metrics[0]: no metric"}
	wla.Status.Conditions = fine
	vpa := &vpav1.VerticalPodAutoscaler{Unreadable: "spec.metrics[0]: no metric", Status: vpav1.VerticalPodAutoscalerStatus{
		Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: "RecommendationProvided", Status: "True"}}}}
	for _, row := range []Row{OfWLA(wla), OfVPA(vpa)} {
		if row.Health != Problem || !strings.Contains(row.Says, "cannot be read") || row.Target != "" || row.Max != nil || row.Mode != "" {
			t.Errorf("%+v", row)
		}
	}
}

// TestLimits: the row has the last limit that changed the count, in the words of the condition or of the status.
func TestLimits(t *testing.T) {
	able, stabilized := hpaCondition("AbleToScale", "True", "ReadyForNewScale"), hpaCondition("AbleToScale", "True", "ScaleDownStabilized")
	for name, tt := range map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		want       string
	}{
		"none":            {[]autoscalingv2.HorizontalPodAutoscalerCondition{able, hpaCondition("ScalingLimited", "False", "DesiredWithinRange")}, ""},
		"a window":        {[]autoscalingv2.HorizontalPodAutoscalerCondition{stabilized}, "ScaleDownStabilized"},
		"a window, a max": {[]autoscalingv2.HorizontalPodAutoscalerCondition{stabilized, hpaCondition("ScalingLimited", "True", "TooManyReplicas")}, "TooManyReplicas"},
	} {
		row := OfHPA(&autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: tt.conditions}})
		if got := ptr.Deref(row.Limit, Limit{}); got.Name != tt.want || tt.want != "" && got.Says != "the message of "+tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLoadOfWLA: the row has the load of the metric with the highest ratio to its target, of any kind.
func TestLoadOfWLA(t *testing.T) {
	four, eight := resource.MustParse("4"), resource.MustParse("10")
	wla := &plimsollv1alpha1.WorkloadAutoscaler{}
	wla.Spec.Metrics = []plimsollv1alpha1.MetricSpec{
		{Type: "Resource", Resource: &plimsollv1alpha1.ResourceMetricSource{Name: "cpu", Target: plimsollv1alpha1.MetricTarget{
			Type: "Utilization", AverageUtilization: ptr.To[int32](50)}}},
		{Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{Target: plimsollv1alpha1.MetricTarget{
			Type: "AverageValue", AverageValue: &four}}},
	}
	wla.Spec.Metrics[1].PodEndpoint.Metric.Name = "requests"
	wla.Status.Summary = &plimsollv1alpha1.Summary{Metrics: "cpu: 75%/50%, requests: 10/4 (avg)"}
	wla.Status.Limit = &plimsollv1alpha1.Limit{Reason: "MaxReplicas", Message: "maxReplicas is 5"}
	wla.Status.Conditions = []metav1.Condition{{Type: "AbleToScale", Status: "True", Reason: "ReadyForNewScale"}}
	wla.Status.Metrics = []plimsollv1alpha1.MetricStatus{
		{Name: "cpu", Type: "Resource", AverageUtilization: ptr.To[int32](75)},
		{Name: "requests", Type: "PodEndpoint", AverageValue: &eight},
	}
	row := OfWLA(wla)
	if row.Load == nil || row.Load.Ratio == nil || *row.Load.Ratio != 2.5 || row.Load.Metric != "requests" || row.Limit.Name != "MaxReplicas" {
		t.Errorf("%+v, %+v", row.Load, row.Limit)
	}
	wla.Status.Metrics[1].AverageValue = nil
	if row := OfWLA(wla); *row.Load.Ratio != 1.5 || row.Load.Metric != "cpu" {
		t.Errorf("with a metric that cannot be read: %+v", row.Load)
	}
	wla.Status.Metrics = nil
	if row := OfWLA(wla); row.Load.Ratio != nil || row.Load.Text != wla.Status.Summary.Metrics {
		t.Errorf("without values: %+v", row.Load)
	}
}
