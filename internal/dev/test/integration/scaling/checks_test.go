package scaling

import (
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// hasValidMetric is true when the last decision was made from metrics.
func hasValidMetric(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	return harness.Has(hpa, harness.Condition{
		Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
	})
}

func currentReplicas(hpa *autoscalingv2.HorizontalPodAutoscaler, want int32) error {
	if got := hpa.Status.CurrentReplicas; got != want {
		return fmt.Errorf("status.currentReplicas is %d, not %d", got, want)
	}
	return nil
}

func both(errs ...error) error { return errors.Join(errs...) }
