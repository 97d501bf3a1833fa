package resize

import (
	"maps"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// How long to leave a pod alone after the API server refused its resize: twice
// as long every time.
const (
	firstBackoff = 30 * time.Second
	longestWait  = 10 * time.Minute
	// attempts are how many fail before the pod is evicted, where the mode allows it.
	attempts = 5
)

// State is what is remembered of a workload's resizes.
type State struct {
	// Seen is when a resize was first seen under way: by the pod's UID and generation,
	// or its name.
	Seen map[string]time.Time `json:"seen,omitempty"`
	// Infeasible are resizes that a node cannot do, by the pod's UID.
	Infeasible map[string]InfeasibleResize `json:"refused,omitempty"`
	// Failed are resizes that the API server did not take, by the pod's UID.
	Failed map[string]Failure `json:"failed,omitempty"`
}

// InfeasibleResize is what was recommended when a node refused.
type InfeasibleResize struct {
	Targets map[string]vertical.Amounts `json:"targets"`
	// Room is what the node had for the pod; what it has for any pod if that is not
	// known.
	Room vertical.Amounts `json:"room"`
}

// Failure is how often a resize failed one after the other.
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

// Prune forgets pods that are gone. Times by name are never forgotten, as
// upstream does not.
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

// WaitForChecks reports that a pod has waited long enough for what a check found to pass.
func (s *State) WaitForChecks(now time.Time, pod *vertical.Pod) (enough bool) {
	key := checkWaitKey(pod)
	since, ok := s.Seen[key]
	if !ok {
		s.Seen[key] = now
		return false
	}
	return now.Sub(since) > DeferredTimeout
}

// EndWait drops the time since when the pod waited.
func (s *State) EndWait(pod *vertical.Pod) { delete(s.Seen, checkWaitKey(pod)) }

func checkWaitKey(pod *vertical.Pod) string { return pod.UID + "/held" }

// RecordInfeasible records that the pod's node cannot do what is recommended.
func (s *State) RecordInfeasible(pod *vertical.Pod, raw []vertical.Recommendation, room vertical.Amounts) {
	targets := make(map[string]vertical.Amounts, len(raw))
	for i := range raw {
		targets[raw[i].Container] = raw[i].Target
	}
	s.Infeasible[pod.UID] = InfeasibleResize{Targets: targets, Room: room}
}

// Reconsider forgets refusals of pods whose node has got more room since.
func (s *State) Reconsider(pod *vertical.Pod, room vertical.Amounts) {
	refusal, ok := s.Infeasible[pod.UID]
	if ok && lower(refusal.Room, room) {
		delete(s.Infeasible, pod.UID)
	}
}

// WasInfeasible reports that the pod's node refused the like and that nothing has
// become less since.
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

// lower reports that a has less of some resource than b.
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

// ClearFailures forgets the pod's failures.
func (s *State) ClearFailures(pod *vertical.Pod) { delete(s.Failed, pod.UID) }

func (s *State) backingOff(now time.Time, pod *vertical.Pod) bool {
	return now.Before(s.Failed[pod.UID].Until)
}
