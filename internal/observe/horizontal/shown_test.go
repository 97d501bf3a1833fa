package horizontal

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// TestLimitedSince: since when more than maxReplicas is asked for follows from the condition, and from the last scaling
// where that is later.
func TestLimitedSince(t *testing.T) {
	limited := metav1.NewTime(noon.Add(-time.Hour))
	before, after := metav1.NewTime(noon.Add(-2*time.Hour)), metav1.NewTime(noon.Add(-time.Minute))
	for name, tt := range map[string]struct {
		status corev1.ConditionStatus
		reason string
		scaled *metav1.Time
		want   time.Time
	}{
		"limited at the last count": {corev1.ConditionTrue, "TooManyReplicas", &before, limited.Time},
		"never scaled":              {corev1.ConditionTrue, "TooManyReplicas", nil, limited.Time},
		"by the rate first":         {corev1.ConditionTrue, "TooManyReplicas", &after, after.Time},
		"by the rate now":           {corev1.ConditionTrue, "ScaleUpLimit", &before, time.Time{}},
		"not limited":               {corev1.ConditionFalse, "DesiredWithinRange", &before, time.Time{}},
		"false for whatever reason": {corev1.ConditionFalse, "TooManyReplicas", &before, time.Time{}},
	} {
		a := HPA(&autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			LastScaleTime: tt.scaled,
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{
				Type: autoscalingv2.ScalingLimited, Status: tt.status, Reason: tt.reason, LastTransitionTime: limited,
			}},
		}})
		if got := a.LimitedSince(); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if got := HPA(&autoscalingv2.HorizontalPodAutoscaler{}).LimitedSince(); !got.IsZero() {
		t.Errorf("without a condition: %v", got)
	}
}

// TestShownOfWorkloads: what the status has of the forecast in mode Active, and of a metric that cannot be read.
func TestShownOfWorkloads(t *testing.T) {
	six := int32(6)
	wla := &plimsollv1alpha1.WorkloadAutoscaler{
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{Metrics: []plimsollv1alpha1.MetricSpec{{Name: "cpu"}, {Name: "requests"}}},
		Status: plimsollv1alpha1.WorkloadAutoscalerStatus{
			Forecast: &plimsollv1alpha1.ForecastStatus{Mode: plimsollv1alpha1.ForecastActive, Replicas: &six},
			Metrics: []plimsollv1alpha1.MetricStatus{
				{Name: "requests", Failure: &plimsollv1alpha1.MetricFailure{Message: "404"}}, {Name: "cpu"},
			},
		},
	}
	a := WorkloadAutoscaler(wla)
	if got := a.ForecastReplicas(); got != 6 {
		t.Errorf("the forecast asks for %d", got)
	}
	if got := []string{a.FailureOf(0), a.FailureOf(1)}; got[0] != "" || got[1] != "404" {
		t.Errorf("the metrics fail with %q", got)
	}
	wla.Status.Forecast.Mode = plimsollv1alpha1.ForecastPreview
	if got := a.ForecastReplicas(); got != 0 {
		t.Errorf("in a preview it asks for %d", got)
	}
	hpa := HPA(&autoscalingv2.HorizontalPodAutoscaler{})
	if hpa.ForecastReplicas() != 0 || hpa.FailureOf(0) != "" {
		t.Error("an HPA shows a forecast, or a metric that fails")
	}
}
