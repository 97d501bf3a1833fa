package resize

import (
	"maps"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// The pause after the API server refused a resize of the pod; it doubles every time.
const (
	firstBackoff = 30 * time.Second
	longestWait  = 10 * time.Minute
	// attempts is the number of failures before the pod is evicted, if the mode permits it.
	attempts = 5
)

// State is the history of a workload's resizes.
type State struct {
	// Seen is when a resize was first observed in progress: by the pod's UID and generation, or its name.
	Seen map[string]time.Time `json:"seen,omitempty"`
	// Infeasible has the resizes that a node cannot do, by the pods' UIDs.
	Infeasible map[string]InfeasibleResize `json:"refused,omitempty"`
	// Failed has the resizes that the API server refused, by the pods' UIDs.
	Failed map[string]Failure `json:"failed,omitempty"`
}

// InfeasibleResize has the recommendation that a node refused.
type InfeasibleResize struct {
	Targets map[string]vertical.Amounts `json:"targets"`
	// Room is the room that the node had for the pod.
	Room vertical.Amounts `json:"room"`
}

// Failure counts failures of a resize in a row.
type Failure struct {
	Attempts int       `json:"attempts"`
	Until    time.Time `json:"until"`
}

// Clone returns a State of its own, with its maps made.
func (s State) Clone() State {
	clone := State{Seen: maps.Clone(s.Seen), Infeasible: maps.Clone(s.Infeasible), Failed: maps.Clone(s.Failed)}
	if clone.Seen == nil {
		clone.Seen = map[string]time.Time{}
	}
	if clone.Infeasible == nil {
		clone.Infeasible = map[string]InfeasibleResize{}
	}
	if clone.Failed == nil {
		clone.Failed = map[string]Failure{}
	}
	return clone
}

// Prune drops deleted pods. It keeps times by name, as upstream does.
func (s *State) Prune(pods []vertical.Pod, d divergence.Set) {
	live := make(map[string]bool, len(pods))
	for i := range pods {
		live[pods[i].UID] = true
	}
	maps.DeleteFunc(s.Infeasible, func(uid string, _ InfeasibleResize) bool { return !live[uid] })
	maps.DeleteFunc(s.Failed, func(uid string, _ Failure) bool { return !live[uid] })
	if !d.Has(divergence.ResizeTimers) {
		return
	}
	current := make(map[string]bool, len(pods))
	for i := range pods {
		current[checkWaitKey(&pods[i])] = true
		if pods[i].Resize != vertical.ResizeNone {
			current[progressKey(&pods[i])] = true
		}
	}
	maps.DeleteFunc(s.Seen, func(key string, _ time.Time) bool { return !current[key] })
}

// WaitForChecks reports whether a pod has waited long enough for the cause of a failed check to pass.
func (s *State) WaitForChecks(now time.Time, pod *vertical.Pod) (enough bool) {
	key := checkWaitKey(pod)
	since, ok := s.Seen[key]
	if !ok {
		s.Seen[key] = now
		return false
	}
	return now.Sub(since) > DeferredTimeout
}

// EndWait drops the start of the pod's wait.
func (s *State) EndWait(pod *vertical.Pod) { delete(s.Seen, checkWaitKey(pod)) }

func checkWaitKey(pod *vertical.Pod) string { return pod.UID + "/held" }

// RecordInfeasible records that the pod's node cannot do the recommended resize.
func (s *State) RecordInfeasible(pod *vertical.Pod, raw []vertical.Recommendation, room vertical.Amounts) {
	targets := make(map[string]vertical.Amounts, len(raw))
	for i := range raw {
		targets[raw[i].Container] = raw[i].Target
	}
	s.Infeasible[pod.UID] = InfeasibleResize{Targets: targets, Room: room}
}

// Reconsider drops refusals of pods whose nodes have more room since.
func (s *State) Reconsider(pod *vertical.Pod, room vertical.Amounts) {
	refusal, ok := s.Infeasible[pod.UID]
	if ok && lower(refusal.Room, room) {
		delete(s.Infeasible, pod.UID)
	}
}

// WasInfeasible reports whether the pod's node refused a similar resize and no recommended amount has decreased since.
func (s *State) WasInfeasible(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	refusal, ok := s.Infeasible[pod.UID]
	if !ok {
		return false
	}
	for i := range recommended {
		before, known := refusal.Targets[recommended[i].Container]
		if known && lower(recommended[i].Target, before) {
			return false
		}
	}
	return true
}

// lower reports whether a has less of some resource than b.
func lower(a, b vertical.Amounts) bool {
	for r := range vertical.Resource(vertical.Resources) {
		x, hasX := a.Get(r)
		y, hasY := b.Get(r)
		if hasX && hasY && x < y {
			return true
		}
	}
	return false
}

// RecordFailure records that the API server refused a resize, and reports whether
// there were so many failures that waiting no longer helps.
func (s *State) RecordFailure(now time.Time, pod *vertical.Pod) (hopeless bool) {
	failure := s.Failed[pod.UID]
	failure.Attempts++
	wait := firstBackoff << min(failure.Attempts-1, attempts)
	failure.Until = now.Add(min(wait, longestWait))
	s.Failed[pod.UID] = failure
	return failure.Attempts >= attempts
}

// ClearFailures drops the pod's failures.
func (s *State) ClearFailures(pod *vertical.Pod) { delete(s.Failed, pod.UID) }

func (s *State) backingOff(now time.Time, pod *vertical.Pod) bool {
	return now.Before(s.Failed[pod.UID].Until)
}
