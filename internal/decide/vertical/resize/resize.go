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

// How long a kubelet may take (upstream's constants, and for what upstream does
// not wait for at all).
const (
	// DeferredTimeout is for a node without room, and for states that may pass.
	DeferredTimeout = 5 * time.Minute
	// ProgressTimeout is for a resize that is being done.
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
	// RetryDifferent resizes a pod whose kubelet cannot do the last resize, if another is
	// wanted by now.
	RetryDifferent
)

// Policy is how pods may be resized.
type Policy struct {
	// Evicts is set if a pod is evicted where a resize fails: mode InPlaceOrRecreate. Otherwise it never is: mode InPlace.
	Evicts bool
	// SkipBudget lets a pod be resized whatever the budget, if no container restarts
	// (--in-place-skip-disruption-budget).
	SkipBudget  bool
	Divergences divergence.Set
}

// Budget is what the disruption budget says about one pod: why it may not be
// touched, and why it may not be away.
type Budget struct{ BlockedBy, DisruptionBlockedBy reason.Reason }

// Decide says what to do with the pod. raw are the recommendations as they stand in
// the VerticalPodAutoscaler, not yet fitted to the pod. The order of the questions
// is upstream's (pkg/updater/restriction/pods_inplace_restriction.go, v1.8.1).
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

// decideInProgress is about a pod that the kubelet is resizing, or has refused to.
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

// decideAfterError is about a pod that is never evicted, whose kubelet cannot do what the pod
// asks for. By now something else may be recommended, which it can.
func (s *State) decideAfterError(now time.Time, pod *vertical.Pod, spare reason.Reason) (Step, reason.Reason) {
	switch {
	case s.backingOff(now, pod):
		return Wait, reason.BackingOff
	case spare != reason.None:
		return Wait, spare
	}
	return RetryDifferent, reason.None
}

// InProgress says what is known of a resize that has not ended.
func InProgress(pod *vertical.Pod) reason.Reason {
	if pod.Resize == vertical.ResizeError {
		return reason.ResizeError
	}
	return reason.ResizeUnderway
}

// ObserveProgress reports that a resize has failed, or has taken too long since it was
// first seen. Upstream stores that by the pod's name and for ever, and does
// not wait where the kubelet reports an error or an unknown state.
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
		// What the kubelet says of an older resize it has yet to say of this one.
		return !d.Has(divergence.ResizeTimers) || !pod.HasOlderResize() || waited > DeferredTimeout
	case vertical.ResizeDeferred:
		return waited > DeferredTimeout
	case vertical.ResizeInProgress:
		return waited > ProgressTimeout
	default:
		return !patient || waited > DeferredTimeout
	}
}

// progressKey names this resize of the pod among all that it ever gets.
func progressKey(pod *vertical.Pod) string {
	return pod.UID + "/" + strconv.FormatInt(pod.Generation, 10)
}

// Restarts reports a container that a change of some resource restarts. Upstream
// does not ask which resource changes.
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
