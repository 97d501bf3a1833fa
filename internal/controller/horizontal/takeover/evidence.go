package takeover

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Differs reports whether a controller that acts on the object would have written another status than it has; after is
// the status that this installation would write.
//
// For an HPA it compares the values that every controller observes alike, independent of its flags: whether there is a
// status at all, the target's replica count, and the values of metrics. The conclusions from them depend on flags and
// history. A failure of the other controller may concern it alone.
//
// The status of a WorkloadAutoscaler comes from another Plimsoll, which writes each generation that it has observed.
// Its history may lead it to want more replicas than this one, but not fewer.
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

// isObserved reports whether the status is about the object's current generation, or a newer one.
func isObserved(autoscaler observehorizontal.Autoscaler) bool {
	observed := autoscaler.Counts().ObservedGeneration
	return observed != nil && *observed >= autoscaler.Generation
}
