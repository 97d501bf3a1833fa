package horizontal

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
