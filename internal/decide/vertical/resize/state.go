package resize

import (
	"maps"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// How long to leave a pod alone whose resize the API server did not take: twice
// as long each time.
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
	// Refused are resizes that a node cannot do, by the pod's UID.
	Refused map[string]Refusal `json:"refused,omitempty"`
	// Failed are resizes that the API server did not take, by the pod's UID.
	Failed map[string]Failure `json:"failed,omitempty"`
}

// Refusal is what was recommended when a node refused.
type Refusal struct {
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

// Clone is a State of its own, with its maps made.
func (s State) Clone() State {
	clone := State{Seen: maps.Clone(s.Seen), Refused: maps.Clone(s.Refused), Failed: maps.Clone(s.Failed)}
	if clone.Seen == nil {
		clone.Seen = map[string]time.Time{}
	}
	if clone.Refused == nil {
		clone.Refused = map[string]Refusal{}
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
	maps.DeleteFunc(s.Refused, func(uid string, _ Refusal) bool { return !live[uid] })
	maps.DeleteFunc(s.Failed, func(uid string, _ Failure) bool { return !live[uid] })
	if !d.Has(divergence.ResizeTimers) {
		return
	}
	current := make(map[string]bool, len(pods))
	for i := range pods {
		current[held(&pods[i])] = true
		if pods[i].Resize != vertical.ResizeNone {
			current[timer(&pods[i])] = true
		}
	}
	maps.DeleteFunc(s.Seen, func(key string, _ time.Time) bool { return !current[key] })
}

// Hold reports that a pod has waited long enough for what a check found to pass.
func (s *State) Hold(now time.Time, pod *vertical.Pod) (enough bool) {
	key := held(pod)
	since, ok := s.Seen[key]
	if !ok {
		s.Seen[key] = now
		return false
	}
	return now.Sub(since) > DeferredTimeout
}

// Release forgets that the pod was held.
func (s *State) Release(pod *vertical.Pod) { delete(s.Seen, held(pod)) }

func held(pod *vertical.Pod) string { return pod.UID + "/held" }

// Refuse remembers that the pod's node cannot do what is recommended.
func (s *State) Refuse(pod *vertical.Pod, raw []vertical.Recommendation, room vertical.Amounts) {
	targets := make(map[string]vertical.Amounts, len(raw))
	for i := range raw {
		targets[raw[i].Container] = raw[i].Target
	}
	s.Refused[pod.UID] = Refusal{Targets: targets, Room: room}
}

// Reconsider forgets refusals of pods whose node has got more room since.
func (s *State) Reconsider(pod *vertical.Pod, room vertical.Amounts) {
	refusal, ok := s.Refused[pod.UID]
	if ok && lower(refusal.Room, room) {
		delete(s.Refused, pod.UID)
	}
}

// RefusedBefore reports that the pod's node refused the like and that nothing has
// become less since.
func (s *State) RefusedBefore(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	refusal, ok := s.Refused[pod.UID]
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

// Fail remembers that the API server did not take a resize, and reports whether
// there were so many failures that waiting no longer helps.
func (s *State) Fail(now time.Time, pod *vertical.Pod) (hopeless bool) {
	failure := s.Failed[pod.UID]
	failure.Attempts++
	wait := firstBackoff << min(failure.Attempts-1, attempts)
	failure.Until = now.Add(min(wait, longestWait))
	s.Failed[pod.UID] = failure
	return failure.Attempts >= attempts
}

// Succeed forgets the pod's failures.
func (s *State) Succeed(pod *vertical.Pod) { delete(s.Failed, pod.UID) }

func (s *State) backingOff(now time.Time, pod *vertical.Pod) bool {
	return now.Before(s.Failed[pod.UID].Until)
}
