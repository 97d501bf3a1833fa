package zero

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// IsSeen reports whether one of the metrics has values without pods.
func IsSeen(specs []source.Spec) bool {
	return slices.ContainsFunc(specs, func(s source.Spec) bool { return s.HasValueWithoutPods() })
}

// MayBe reports whether zero replicas are an ordinary count of a WorkloadAutoscaler's target: something can end it.
func MayBe(specs []source.Spec, minReplicas int32) bool {
	return minReplicas == 0 && (IsSeen(specs) || len(specs) == 0)
}

// ScalesUp reports whether a target at zero may be scaled up. It may if this controller scaled it there. A
// WorkloadAutoscaler for which zero is an ordinary count may scale it up even if another writer scaled it there.
func ScalesUp(specs []source.Spec, minReplicas int32, isWorkloadAutoscaler, isScaledToZero bool) bool {
	if isWorkloadAutoscaler && MayBe(specs, minReplicas) {
		return true
	}
	return isScaledToZero && (minReplicas != 0 || IsSeen(specs))
}

// IsWithoutPods reports whether a metric of a WorkloadAutoscaler has no values because there are no pods. That does not
// count as a failure.
func IsWithoutPods(spec *source.Spec, current int32) bool {
	return current == 0 && !spec.HasValueWithoutPods()
}
