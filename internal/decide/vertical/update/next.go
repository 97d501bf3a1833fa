package update

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds/proportion"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// Next gives the next action, if there is one: first resizes, then evictions, of
// pods whose resize failed too. Start-up boosts are ended by NextUnboost.
func (d *Decision) Next(s *State) (Action, bool) {
	for len(d.resizes) > 0 {
		i := d.resizes[0]
		d.resizes = d.resizes[1:]
		if action, ok := d.tryResize(s, i); ok {
			return action, true
		}
	}
	for len(d.evicts) > 0 {
		i := d.evicts[0]
		d.evicts = d.evicts[1:]
		v := &d.Pods[i]
		if v.Against = cmp.Or(d.held, d.mayEvict(s, i)); v.Against == reason.None {
			return Action{Kind: Evict, Pod: v.Pod, Why: v.Wants, at: i}, true
		}
	}
	return Action{}, false
}

// Peek is the kind of the next action, as far as it is known before.
func (d *Decision) Peek() Kind {
	switch {
	case len(d.resizes) > 0:
		return Resize
	case len(d.evicts) > 0:
		return Evict
	}
	return Nothing
}

// Stop ends the pass: what was not done, waits.
func (d *Decision) Stop() {
	for _, i := range slices.Concat(d.resizes, d.evicts) {
		d.Pods[i].Against = reason.RateLimit
	}
	d.resizes, d.evicts = nil, nil
}

// tryResize asks again, as the pods before it may have used up the budget.
func (d *Decision) tryResize(s *State, i int) (Action, bool) {
	v := &d.Pods[i]
	action := Action{Kind: Resize, Pod: v.Pod, Why: v.Wants, Unboosted: d.expired(i), at: i}
	action.Targets = d.targets(v.Pod, v.fitted, action.Unboosted)
	step, why := d.next(s, i)
	switch step {
	case resize.Evict:
		d.evicts = append(d.evicts, i)
		return Action{}, false
	case resize.Skip:
		v.Against = why
		return Action{}, false
	case resize.Retry:
		s.Resize.Refuse(v.Pod, d.observed.Recommended, d.room(v.Pod))
		if d.policy.Divergences.Has(divergence.InPlaceBudget) && !resize.Changes(v.Pod, action.Targets) {
			// The same again would be refused again.
			v.Against = reason.InfeasibleBefore
			return Action{}, false
		}
	case resize.Other:
		if !resize.Changes(v.Pod, action.Targets) {
			v.Against = resize.Underway(v.Pod)
			return Action{}, false
		}
	case resize.Wait:
		v.Against = why
		// Upstream sends a resize in mode InPlace although it has just decided to wait,
		// if it knows the pod's workload.
		if d.policy.Mode != vertical.ModeInPlace || d.policy.Divergences.Has(divergence.InPlaceBudget) || d.budget.Refuses(i) != reason.None {
			return Action{}, false
		}
		v.Against = reason.None
	}
	if d.policy.Divergences.Has(divergence.ResizeChecks) && !d.passes(s, i, action.Targets) {
		return Action{}, false
	}
	return action, true
}

// passes looks whether the resize can succeed. Where only a new pod can have the
// resources, and the mode allows it, the pod is evicted.
func (d *Decision) passes(s *State, i int, targets []resize.Target) bool {
	v := &d.Pods[i]
	around := d.around(v.Pod)
	v.Notes = resize.Check(v.Pod, targets, &around)
	evicts := d.policy.Mode == vertical.ModeInPlaceOrRecreate
	if resize.NamesInit(v.Pod, d.observed.Recommended) {
		defer func() { v.Notes = append(v.Notes, reason.InitContainer) }()
	}
	if len(v.Notes) == 0 {
		s.Resize.Release(v.Pod)
		if resize.GrowthUnseen(v.Pod, targets) {
			v.Notes = []reason.Reason{reason.FixedHeap}
			if evicts {
				d.evicts = append(d.evicts, i)
				return false
			}
		}
		return true
	}
	v.Against = v.Notes[0]
	switch {
	case !evicts || slices.ContainsFunc(v.Notes, resize.Forbids):
	case slices.ContainsFunc(v.Notes, resize.NewPod), slices.ContainsFunc(v.Notes, resize.Transient) && s.Resize.Hold(d.At, v.Pod):
		d.evicts = append(d.evicts, i)
	}
	return false
}

// around is what a resize of the pod has to get along with.
func (d *Decision) around(pod *vertical.Pod) resize.Surroundings {
	cluster := &d.observed.Cluster
	node := cluster.Nodes[pod.Node]
	for i := range pod.Containers {
		for r := range vertical.Resource(vertical.Resources) {
			if own, ok := pod.Containers[i].Spec.Requests.Get(r); ok {
				others, _ := node.Others.Get(r)
				node.Others = node.Others.With(r, max(0, others-own))
			}
		}
	}
	return resize.Surroundings{
		Unsupported: cluster.Unsupported, Node: node, Ranges: d.observed.Ranges, Quotas: cluster.Quotas, Used: cluster.Used[pod.UID],
	}
}

// replacementRefused says why the API server would not let a new pod pass: none is
// evicted for it. Where the pod is resized, that was asked before.
func (d *Decision) replacementRefused(i int) reason.Reason {
	v := &d.Pods[i]
	if !d.policy.Divergences.Has(divergence.ResizeChecks) || v.fitted == nil {
		return reason.None
	}
	return resize.Refuses(v.Pod, d.targets(v.Pod, v.fitted, nil), d.observed.Ranges, d.observed.Cluster.Quotas)
}

// Claim claims what the action takes of the namespace's quotas. False leaves the pod as
// it is: the changes before it have taken what is left.
func (d *Decision) Claim(a Action, claims *resize.Claims) (growth vertical.Resized, ok bool) {
	v, quotas := &d.Pods[a.at], d.observed.Cluster.Quotas
	if len(quotas) == 0 || !d.policy.Divergences.Has(divergence.ResizeChecks) {
		return growth, true
	}
	growth = resize.Growth(v.Pod, d.targets(v.Pod, v.fitted, a.Unboosted))
	if ok = claims.Take(growth, quotas); !ok {
		v.Against = reason.ResourceQuota
	}
	return growth, ok
}

// HoldEvictions leaves all evictions out that would come next, and says why.
func (d *Decision) HoldEvictions(why reason.Reason) {
	for _, i := range d.evicts {
		d.Pods[i].Against = why
	}
	d.evicts, d.held = nil, why
}

// room is what the pod's node has left over for it.
func (d *Decision) room(pod *vertical.Pod) vertical.Amounts {
	around := d.around(pod)
	var room vertical.Amounts
	for r := range vertical.Resource(vertical.Resources) {
		all, ok := around.Node.Allocatable.Get(r)
		others, _ := around.Node.Others.Get(r)
		if ok {
			room = room.With(r, max(0, all-others))
		}
	}
	return room
}

// reconsider forgets that a node refused, if it has more room by now.
func (d *Decision) reconsider(s *State, i int) {
	if d.policy.Divergences.Has(divergence.ResizeChecks) {
		s.Resize.Reconsider(&d.pods[i], d.room(&d.pods[i]))
	}
}

// proportional are requests with the limits that belong to them.
func (d *Decision) proportional(c *vertical.PodContainer, requests vertical.Amounts) vertical.Resized {
	target := vertical.Resized{Requests: requests}
	policy := vertical.PolicyOf(d.policy.Containers, c.Name)
	if policy.Values == vertical.RequestsAndLimits || d.policy.Mode == vertical.ModeOff {
		var defaults vertical.Amounts
		if d.observed.Ranges != nil {
			defaults = d.observed.Ranges.Container.Default
		}
		target.Limits, _ = proportion.Limits(c.Requests, c.Limits, defaults, requests)
	}
	return target
}

// Settle notes what became of an action. reason.PodDisruptionBudget and the like
// stand in the pod's verdict afterwards.
func (d *Decision) Settle(now time.Time, s *State, a Action, outcome Outcome) {
	v := &d.Pods[a.at]
	if outcome == Done {
		d.done(now, s, a)
		return
	}
	v.Against = reason.Failed
	if outcome == Refused {
		v.Against = reason.Refused
	}
	switch {
	case outcome == Gone, a.Kind == Unboost:
	case a.Kind == Evict:
		if outcome == Disallowed {
			v.Against = reason.PodDisruptionBudget
		}
	default:
		d.resizeFailed(now, s, a, outcome)
	}
}

func (d *Decision) done(now time.Time, s *State, a Action) {
	v := &d.Pods[a.at]
	v.Did, v.Against = a.Kind, reason.None
	if a.Kind == Evict {
		d.budget.Evicted(a.at)
		s.Circuit.Evict(now, d.observed.Pods, d.observed.Recommended)
		return
	}
	// Upstream counts each boost that ends for itself.
	if a.Kind == Resize || d.policy.Divergences.Has(divergence.WorkloadBudget) {
		d.budget.Resized(a.at)
	}
	s.Circuit.Resize(now, v.Pod)
	s.Resize.Succeed(v.Pod)
}

// resizeFailed: upstream evicts at once where the mode allows it. What refuses a
// resize refuses a new pod as well, and is waited for.
func (d *Decision) resizeFailed(now time.Time, s *State, a Action, outcome Outcome) {
	v := &d.Pods[a.at]
	evicts := d.policy.Mode == vertical.ModeInPlaceOrRecreate
	if outcome == Infeasible && !evicts {
		v.Against = reason.InfeasibleBefore
		s.Resize.Refuse(v.Pod, d.observed.Recommended, d.room(v.Pod))
		return
	}
	helpless := true
	if outcome != Infeasible && d.policy.Divergences.Has(divergence.ResizeBackoff) {
		helpless = s.Resize.Fail(now, v.Pod) && outcome != Refused
		if outcome != Refused {
			v.Against = reason.BackingOff
		}
	}
	if evicts && helpless {
		d.evicts = append(d.evicts, a.at)
	}
}

// Return takes an action back that was not begun, so that Stop counts it as one
// that waits.
func (d *Decision) Return(a Action) {
	if a.Kind == Evict {
		d.evicts = append(d.evicts, a.at)
		return
	}
	d.resizes = append(d.resizes, a.at)
}
