package update

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// Result is the outcome of an action, and its time.
type Result struct {
	Outcome Outcome
	At      time.Time
}

// Claims has the shares of a namespace's quotas that the actions of all workloads use.
type Claims interface {
	// Take claims the growth; false if a quota has no room for it.
	Take(growth vertical.Resized, quotas []resize.Quota) bool
	// Release returns the claim of an action that was not done.
	Release(growth vertical.Resized)
}

var _ Claims = (*resize.Claims)(nil)

// play is one execution of a Decision.
type play struct {
	*Decision
	state  *State
	claims Claims
	do     func(Action) Result
}

// next says how a play continues after a pod.
type next uint8

const (
	nextPod next = iota
	// evictInstead: the resize failed or would fail, and the mode permits an eviction.
	evictInstead
	// stop: the action was Deferred.
	stop
)

// Play carries the decision out. It calls do with one action after the other: first resizes, then evictions, including
// those of pods whose resize failed. The result of an action determines which ones follow. It returns false if do
// deferred an action: then that one and all after it wait for the next pass. EndBoosts removes start-up boosts.
func (d *Decision) Play(s *State, claims Claims, do func(Action) Result) (completed bool) {
	p := play{Decision: d, state: s, claims: claims, do: do}
	var resizes, evictions []int
	if d.policy.Mode.ResizesInPlace() {
		resizes = d.ToUpdate
	} else {
		evictions = d.ToUpdate
	}
	for n, i := range resizes {
		switch p.resize(i) {
		case nextPod:
		case evictInstead:
			evictions = append(evictions, i)
		case stop:
			d.block(resizes[n:], reason.RateLimit)
			d.block(evictions, reason.RateLimit)
			return false
		}
	}
	for n, i := range evictions {
		if p.evict(i) == stop {
			d.block(evictions[n:], reason.RateLimit)
			return false
		}
	}
	return true
}

// First returns the kind of the first action of a Play; Nothing if it has none.
func (d *Decision) First() Kind {
	switch {
	case len(d.ToUpdate) == 0:
		return Nothing
	case d.policy.Mode.ResizesInPlace():
		return Resize
	case d.evictionsStopped == reason.None:
		return Evict
	}
	return Nothing
}

// Defer defers every pod to a later pass, instead of a Play.
func (d *Decision) Defer(why reason.Reason) { d.block(d.ToUpdate, why) }

// StopEvictions removes all evictions because of the state of the whole cluster. Resizes continue.
func (d *Decision) StopEvictions(why reason.Reason) {
	d.evictionsStopped = why
	if !d.policy.Mode.ResizesInPlace() {
		d.block(d.ToUpdate, why)
	}
}

func (d *Decision) block(pods []int, why reason.Reason) {
	for _, i := range pods {
		d.Pods[i].BlockedBy = why
	}
}

func (p *play) resize(i int) next {
	action, blockedBy, evict := p.planResize(p.state, i)
	switch {
	case evict:
		return evictInstead
	case blockedBy != reason.None:
		p.Pods[i].BlockedBy = blockedBy
		return nextPod
	}
	return p.perform(action)
}

func (p *play) evict(i int) next {
	v := &p.Pods[i]
	blockedBy := p.evictionsStopped
	if blockedBy == reason.None {
		// Check again: the evictions before this one may have used up the budget.
		blockedBy = p.evictionBlockedBy(p.state, i)
	}
	if blockedBy != reason.None {
		v.BlockedBy = blockedBy
		return nextPod
	}
	return p.perform(Action{Kind: Evict, Pod: v.Pod, Reason: v.Reason, at: i})
}

// perform does the action within the namespace's quotas, and records the result.
func (p *play) perform(a Action) next {
	v := &p.Pods[a.at]
	growth, ok := p.claim(a)
	if !ok {
		v.BlockedBy = reason.ResourceQuota
		return nextPod
	}
	result := p.do(a)
	if result.Outcome != Done {
		p.claims.Release(growth)
	}
	switch result.Outcome {
	case Deferred:
		return stop
	case OverClusterBudget:
		p.evictionsStopped, v.BlockedBy = reason.ClusterBudget, reason.ClusterBudget
		return nextPod
	}
	if p.record(p.state, a, result) {
		return evictInstead
	}
	return nextPod
}

// claim takes the pod's additional requests from the namespace's quotas. Earlier changes may have used them up.
func (p *play) claim(a Action) (growth vertical.Resized, ok bool) {
	v, quotas := &p.Pods[a.at], p.observed.Cluster.Quotas
	if len(quotas) == 0 || !p.policy.Divergences.Has(divergence.ResizeChecks) {
		return growth, true
	}
	growth = resize.Growth(v.Pod, p.targets(v.Pod, v.fitted, a.Unboosted))
	return growth, p.claims.Take(growth, quotas)
}

// record stores the result of an action in the pod's verdict and in the State. evict is set if an eviction should
// follow.
func (p *play) record(s *State, a Action, result Result) (evict bool) {
	v := &p.Pods[a.at]
	switch {
	case result.Outcome == Done:
		v.Action, v.BlockedBy = a.Kind, reason.None
		p.recordDone(s, a, result.At)
	case result.Outcome == Refused && a.Kind == Unboost:
		v.BlockedBy = reason.Refused
	case a.Kind == Unboost, result.Outcome == Gone:
		v.BlockedBy = reason.Failed
	case a.Kind == Evict && result.Outcome == Disallowed:
		v.BlockedBy = reason.PodDisruptionBudget
	case a.Kind == Evict:
		v.BlockedBy = reason.Failed
	default:
		v.BlockedBy, evict = p.recordFailedResize(s, v.Pod, result)
	}
	return evict
}

func (p *play) recordDone(s *State, a Action, at time.Time) {
	if a.Kind == Evict {
		p.budget.RecordEviction(a.at)
		s.Circuit.RecordEviction(at, p.observed.Pods, p.observed.Recommended)
		return
	}
	// Upstream counts each removed boost separately.
	if a.Kind == Resize || p.policy.Divergences.Has(divergence.WorkloadBudget) {
		p.budget.RecordResize(a.at)
	}
	s.Circuit.RecordResize(at, a.Pod)
	s.Resize.ClearFailures(a.Pod)
}

// recordFailedResize returns why the pod is not changed, and whether it is evicted instead. Upstream evicts at once if
// the mode permits it. With the divergence resize-backoff the resize is tried again first, and the refusal of an
// admission policy never leads to an eviction: the policy would refuse the new pod as well.
func (p *play) recordFailedResize(s *State, pod *vertical.Pod, result Result) (blockedBy reason.Reason, evict bool) {
	evicts, patient := p.policy.resize().Evicts, p.policy.Divergences.Has(divergence.ResizeBackoff)
	switch {
	case result.Outcome == Infeasible && evicts:
		return reason.Failed, true
	case result.Outcome == Infeasible:
		s.Resize.RecordInfeasible(pod, p.observed.Recommended, p.nodeRoom(pod))
		return reason.InfeasibleBefore, false
	case result.Outcome == Refused && patient:
		s.Resize.RecordFailure(result.At, pod)
		return reason.Refused, false
	case result.Outcome == Refused:
		return reason.Refused, evicts
	case patient:
		return reason.BackingOff, s.Resize.RecordFailure(result.At, pod) && evicts
	}
	return reason.Failed, evicts
}
