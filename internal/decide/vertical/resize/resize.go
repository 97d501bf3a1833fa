// Package resize decides whether a running pod's resources can be changed in place, how long to wait for the kubelet,
// and when to give up.
package resize

import (
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// How long to wait for a kubelet (upstream's constants, also for cases in which upstream does not wait).
const (
	// DeferredTimeout applies to a node without room, and to states that may pass.
	DeferredTimeout = 5 * time.Minute
	// ProgressTimeout applies to a resize in progress.
	ProgressTimeout = time.Hour
)

// Step is the next step for a pod that should be resized.
type Step uint8

// The steps.
const (
	// Resize it now.
	Resize Step = iota
	// Wait for another pass.
	Wait
	// Retry resizes a pod whose node refused the last resize.
	Retry
	// Evict it: the resize failed.
	Evict
	// Skip it until less is recommended: the node refused, and would again.
	Skip
	// RetryDifferent resizes a pod whose kubelet cannot do the last resize, if the recommendation differs by now.
	RetryDifferent
)

// Policy has the settings of resizes.
type Policy struct {
	// Evicts is set if a pod is evicted after a resize failed: mode InPlaceOrRecreate. Otherwise it never is: mode
	// InPlace.
	Evicts bool
	// SkipBudget permits resizes whatever the budget, if no container restarts (--in-place-skip-disruption-budget).
	SkipBudget  bool
	Divergences divergence.Set
}

// Budget has the disruption budget's results for one pod: why it may not be changed, and why it may not become
// unavailable.
type Budget struct{ BlockedBy, DisruptionBlockedBy reason.Reason }

// Decide returns the next step for the pod. raw are the recommendations of the VerticalPodAutoscaler, not yet fitted to
// the pod. The order of the checks is upstream's (pkg/updater/restriction/pods_inplace_restriction.go, v1.8.1).
func (s *State) Decide(
	now time.Time, p *Policy, pod *vertical.Pod, raw []vertical.Recommendation, budget Budget,
) (Step, reason.Reason) {
	switch {
	case budget.BlockedBy != reason.None:
		return Wait, budget.BlockedBy
	case pod.Pending:
		return Wait, reason.PodPending
	case raw == nil:
		return Wait, reason.NoRecommendation
	case !p.Evicts && s.WasInfeasible(pod, raw):
		return Skip, reason.InfeasibleBefore
	case pod.Resize != vertical.ResizeNone:
		return s.decideInProgress(now, p, pod, budget.DisruptionBlockedBy)
	}
	if p.Divergences.Has(divergence.ResizeBackoff) && s.backingOff(now, pod) {
		return Wait, reason.BackingOff
	}
	if p.SkipBudget && !Restarts(pod) {
		return Resize, reason.None
	}
	if budget.DisruptionBlockedBy != reason.None {
		return Wait, budget.DisruptionBlockedBy
	}
	return Resize, reason.None
}

// decideInProgress handles a pod that the kubelet is resizing, or has refused to.
func (s *State) decideInProgress(
	now time.Time, p *Policy, pod *vertical.Pod, spare reason.Reason,
) (Step, reason.Reason) {
	if !p.Evicts {
		if pod.Resize == vertical.ResizeInfeasible {
			if p.Divergences.Has(divergence.ResizeTimers) && !s.ObserveProgress(now, pod, p.Divergences) {
				return Wait, reason.ResizeUnderway
			}
			return Retry, reason.None
		}
		if pod.Resize == vertical.ResizeError && p.Divergences.Has(divergence.ResizeBackoff) {
			return s.decideAfterError(now, pod, spare)
		}
		return Wait, InProgress(pod)
	}
	if s.ObserveProgress(now, pod, p.Divergences) && spare == reason.None {
		return Evict, reason.ResizeFailed
	}
	return Wait, InProgress(pod)
}

// decideAfterError handles a pod that is never evicted, and whose kubelet cannot do its last resize. It may be able to
// do the present recommendation.
func (s *State) decideAfterError(now time.Time, pod *vertical.Pod, spare reason.Reason) (Step, reason.Reason) {
	switch {
	case s.backingOff(now, pod):
		return Wait, reason.BackingOff
	case spare != reason.None:
		return Wait, spare
	}
	return RetryDifferent, reason.None
}

// InProgress returns the reason for a resize that has not ended.
func InProgress(pod *vertical.Pod) reason.Reason {
	if pod.Resize == vertical.ResizeError {
		return reason.ResizeError
	}
	return reason.ResizeUnderway
}

// ObserveProgress reports whether a resize has failed, or has taken too long since it was first observed. Upstream
// stores that time by the pod's name and for ever, and does not wait if the kubelet reports an error or an unknown
// state.
func (s *State) ObserveProgress(now time.Time, pod *vertical.Pod, d divergence.Set) bool {
	if pod.Resize == vertical.ResizeNone {
		return false
	}
	key := pod.Namespace + "/" + pod.Name
	if d.Has(divergence.ResizeTimers) {
		key = progressKey(pod)
	}
	since, ok := s.Seen[key]
	if !ok {
		since = now
		s.Seen[key] = now
	}
	patient := d.Has(divergence.ResizeBackoff)
	waited := now.Sub(since)
	switch pod.Resize {
	case vertical.ResizeInfeasible:
		// The kubelet's status is about an older resize.
		return !d.Has(divergence.ResizeTimers) || !pod.HasOlderResize() || waited > DeferredTimeout
	case vertical.ResizeDeferred:
		return waited > DeferredTimeout
	case vertical.ResizeInProgress:
		return waited > ProgressTimeout
	default:
		return !patient || waited > DeferredTimeout
	}
}

// progressKey identifies this resize among all resizes of the pod.
func progressKey(pod *vertical.Pod) string {
	return pod.UID + "/" + strconv.FormatInt(pod.Generation, 10)
}

// Restarts reports whether a change of some resource would restart a container. Upstream does not check which resource
// changes.
func Restarts(pod *vertical.Pod) bool {
	for i := range pod.Containers {
		for _, restarts := range pod.Containers[i].Restarts {
			if restarts {
				return true
			}
		}
	}
	return false
}
