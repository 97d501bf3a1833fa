package takeover

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Only values that every controller reads alike are evidence that none is there.
func TestDiffers(t *testing.T) {
	type status = autoscalingv2.HorizontalPodAutoscalerStatus
	for name, tt := range map[string]struct {
		stored, after func(*status)
		want          bool
	}{
		"the same": {},
		"no status": {
			stored: func(s *status) { *s = status{} }, want: true,
		},
		"another replica count": {
			after: func(s *status) { s.CurrentReplicas = 5 }, want: true,
		},
		"another wanted count, which settings may explain": {
			after: func(s *status) { s.DesiredReplicas = 5 },
		},
		"another condition, which settings may explain": {
			after: func(s *status) { s.Conditions[0].Reason = "SucceededRescale" },
		},
		"another value of a metric": {
			after: func(s *status) { s.CurrentMetrics[0].External.Current.AverageValue.SetMilli(8000) }, want: true,
		},
		"about the same value": {
			after: func(s *status) { s.CurrentMetrics[0].External.Current.AverageValue.SetMilli(7510) },
		},
		"a metric that cannot be read here": {
			after: func(s *status) { s.CurrentMetrics[0] = autoscalingv2.MetricStatus{} },
		},
		"a metric that could not be read there": {
			stored: func(s *status) { s.CurrentMetrics = nil },
		},
		"metrics that could not be read there": {
			stored: func(s *status) {
				s.Conditions[1].Status = corev1.ConditionFalse
				s.CurrentMetrics[0].External.Current.AverageValue.SetMilli(8000)
			},
		},
		"a target that could not be read there": {
			stored: func(s *status) { s.Conditions[0].Status, s.CurrentReplicas = corev1.ConditionFalse, 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored, after := fine(), fine()
			if tt.stored != nil {
				tt.stored(stored)
			}
			if tt.after != nil {
				tt.after(after)
			}
			if got := Differs(hpaWith(stored), &statusreport.Report{Counts: true}, statusOf(after)); got != tt.want {
				t.Errorf("differs: %t", got)
			}
		})
	}
}

// A WorkloadAutoscaler is out of date also if its last change was not observed, or its status wants too few replicas.
func TestWorkloadAutoscalerDiffers(t *testing.T) {
	for name, tt := range map[string]struct {
		observed *int64
		desired  int32
		want     bool
	}{
		"the same":               {observed: ptr.To[int64](3), desired: 2},
		"never observed":         {desired: 2, want: true},
		"changed since":          {observed: ptr.To[int64](2), desired: 2, want: true},
		"more wanted":            {observed: ptr.To[int64](3), desired: 3, want: true},
		"fewer, without history": {observed: ptr.To[int64](3), desired: 1},
	} {
		t.Run(name, func(t *testing.T) {
			wla := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			wla.Status = plimsollv1alpha1.WorkloadAutoscalerStatus{
				ObservedGeneration: tt.observed, CurrentReplicas: 2, DesiredReplicas: 2, Conditions: []metav1.Condition{
					{Type: statusreport.AbleToScale, Status: metav1.ConditionTrue},
					{Type: statusreport.ScalingActive, Status: metav1.ConditionTrue},
				},
			}
			after := fine()
			after.DesiredReplicas = tt.desired
			got := Differs(observehorizontal.WorkloadAutoscaler(wla), &statusreport.Report{Counts: true}, statusOf(after))
			if got != tt.want {
				t.Errorf("differs: %t", got)
			}
		})
	}
}

func hpaWith(status *autoscalingv2.HorizontalPodAutoscalerStatus) observehorizontal.Autoscaler {
	return observehorizontal.HPA(&autoscalingv2.HorizontalPodAutoscaler{Status: *status})
}

func statusOf(status *autoscalingv2.HorizontalPodAutoscalerStatus) *observehorizontal.Status {
	s := hpaWith(status).Status()
	return &s
}

func fine() *autoscalingv2.HorizontalPodAutoscalerStatus {
	return &autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: 2, DesiredReplicas: 2,
		Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"},
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"},
		},
		CurrentMetrics: []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricStatus{
				Metric:  autoscalingv2.MetricIdentifier{Name: "queue"},
				Current: autoscalingv2.MetricValueStatus{AverageValue: resource.NewMilliQuantity(7500, resource.DecimalSI)},
			},
		}},
	}
}
