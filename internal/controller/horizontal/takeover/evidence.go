package takeover

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
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
	autoscaler observehorizontal.Autoscaler, r *statusreport.Report, after *observehorizontal.Status,
) bool {
	status := autoscaler.Status()
	switch {
	case autoscaler.IsWorkload() && (!isObserved(autoscaler) || after.DesiredReplicas > status.DesiredReplicas):
		return true
	case len(status.Conditions) == 0:
		return len(after.Conditions) > 0
	case autoscaler.Condition(statusreport.AbleToScale).Status == condition.False:
		return false
	case r.Counts && status.CurrentReplicas != after.CurrentReplicas:
		return true
	}
	return autoscaler.Condition(statusreport.ScalingActive).Status == condition.True &&
		kubestatus.ValuesDiffer(&status, after)
}

// isObserved reports whether the status is about the object as it is, or a newer state of it.
func isObserved(autoscaler observehorizontal.Autoscaler) bool {
	observed := autoscaler.Counts().ObservedGeneration
	return observed != nil && *observed >= autoscaler.Generation
}
