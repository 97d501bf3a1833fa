package takeover

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Differs reports whether a controller that acts on the object would have written another status than
// it has; after is what this installation would write.
//
// Of an HPA this is what every controller reads alike, whatever its flags are: that there is a status at
// all, the target's replica count, and the values of metrics. What it concludes from them depends on
// its flags and its history. What failed for the other controller may fail for it alone.
//
// A WorkloadAutoscaler is another Plimsoll's, which writes of each generation that it has seen it. It may
// want more replicas than it should because of its history, but not fewer.
func Differs(
	hpa observehorizontal.Autoscaler, r *statusreport.Report, after *autoscalingv2.HorizontalPodAutoscalerStatus,
) bool {
	status := &hpa.Status
	switch {
	case hpa.Workload != nil && (!isObserved(hpa) || after.DesiredReplicas > status.DesiredReplicas):
		return true
	case len(status.Conditions) == 0:
		return len(after.Conditions) > 0
	case shows(status, autoscalingv2.AbleToScale, corev1.ConditionFalse):
		return false
	case r.Counts && status.CurrentReplicas != after.CurrentReplicas:
		return true
	}
	return shows(status, autoscalingv2.ScalingActive, corev1.ConditionTrue) && kubestatus.ValuesDiffer(status, after)
}

func isObserved(hpa observehorizontal.Autoscaler) bool {
	observed := hpa.Status.ObservedGeneration
	return observed != nil && *observed >= hpa.Generation
}

func shows(
	status *autoscalingv2.HorizontalPodAutoscalerStatus,
	kind autoscalingv2.HorizontalPodAutoscalerConditionType, value corev1.ConditionStatus,
) bool {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return status.Conditions[i].Status == value
		}
	}
	return false
}
