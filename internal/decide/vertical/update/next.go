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
		if v.BlockedBy = cmp.Or(d.evictionsStopped, d.evictionBlockedBy(s, i)); v.BlockedBy == reason.None {
			return Action{Kind: Evict, Pod: v.Pod, Reason: v.Reason, at: i}, true
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
		d.Pods[i].BlockedBy = reason.RateLimit
	}
	d.resizes, d.evicts = nil, nil
}

// tryResize asks again, as the pods before it may have used up the budget.
func (d *Decision) tryResize(s *State, i int) (Action, bool) {
	v := &d.Pods[i]
	action := Action{Kind: Resize, Pod: v.Pod, Reason: v.Reason, Unboosted: d.expiredBoosts(i), at: i}
	action.Targets = d.targets(v.Pod, v.fitted, action.Unboosted)
	step, why := d.nextStep(s, i)
	switch step {
	case resize.Evict:
		d.evicts = append(d.evicts, i)
		return Action{}, false
	case resize.Skip:
		v.BlockedBy = why
		return Action{}, false
	case resize.Retry:
		s.Resize.RecordInfeasible(v.Pod, d.observed.Recommended, d.nodeRoom(v.Pod))
		if d.policy.Divergences.Has(divergence.InPlaceBudget) && !resize.Changes(v.Pod, action.Targets) {
			// The same again would be refused again.
			v.BlockedBy = reason.InfeasibleBefore
			return Action{}, false
		}
	case resize.RetryDifferent:
		if !resize.Changes(v.Pod, action.Targets) {
			v.BlockedBy = resize.InProgress(v.Pod)
			return Action{}, false
		}
	case resize.Wait:
		v.BlockedBy = why
		// Upstream sends a resize in mode InPlace although it has just decided to wait,
		// if it knows the pod's workload.
		if d.policy.Mode != vertical.ModeInPlace || d.policy.Divergences.Has(divergence.InPlaceBudget) || d.budget.BlockedBy(i) != reason.None {
			return Action{}, false
		}
		v.BlockedBy = reason.None
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
	around := d.constraints(v.Pod)
	v.CheckResults = resize.Check(v.Pod, targets, &around)
	evicts := d.policy.Mode == vertical.ModeInPlaceOrRecreate
	if resize.NamesInit(v.Pod, d.observed.Recommended) {
		defer func() { v.CheckResults = append(v.CheckResults, reason.InitContainer) }()
	}
	if len(v.CheckResults) == 0 {
		s.Resize.EndWait(v.Pod)
		if resize.NeedsRestartToGrow(v.Pod, targets) {
			v.CheckResults = []reason.Reason{reason.FixedHeap}
			if evicts {
				d.evicts = append(d.evicts, i)
				return false
			}
		}
		return true
	}
	v.BlockedBy = v.CheckResults[0]
	switch {
	case !evicts || slices.ContainsFunc(v.CheckResults, resize.Forbids):
	case slices.ContainsFunc(v.CheckResults, resize.NewPod), slices.ContainsFunc(v.CheckResults, resize.Transient) && s.Resize.WaitForChecks(d.At, v.Pod):
		d.evicts = append(d.evicts, i)
	}
	return false
}

// constraints is what a resize of the pod has to get along with.
func (d *Decision) constraints(pod *vertical.Pod) resize.Constraints {
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
	return resize.Constraints{
		Unsupported: cluster.Unsupported, Node: node, Ranges: d.observed.Ranges, Quotas: cluster.Quotas, Used: cluster.Used[pod.UID],
	}
}

// newPodBlockedBy says why the API server would not let a new pod pass: none is
// evicted for it. Where the pod is resized, that was asked before.
func (d *Decision) newPodBlockedBy(i int) reason.Reason {
	v := &d.Pods[i]
	if !d.policy.Divergences.Has(divergence.ResizeChecks) || v.fitted == nil {
		return reason.None
	}
	return resize.NewPodBlockedBy(v.Pod, d.targets(v.Pod, v.fitted, nil), d.observed.Ranges, d.observed.Cluster.Quotas)
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
		v.BlockedBy = reason.ResourceQuota
	}
	return growth, ok
}

// StopEvictions leaves all evictions out that would come next, and says why.
func (d *Decision) StopEvictions(why reason.Reason) {
	for _, i := range d.evicts {
		d.Pods[i].BlockedBy = why
	}
	d.evicts, d.evictionsStopped = nil, why
}

// nodeRoom is what the pod's node has left over for it.
func (d *Decision) nodeRoom(pod *vertical.Pod) vertical.Amounts {
	around := d.constraints(pod)
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
		s.Resize.Reconsider(&d.pods[i], d.nodeRoom(&d.pods[i]))
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

// Applied notes what became of an action. reason.PodDisruptionBudget and the like
// stand in the pod's verdict afterwards.
func (d *Decision) Applied(now time.Time, s *State, a Action, outcome Outcome) {
	v := &d.Pods[a.at]
	if outcome == Done {
		d.done(now, s, a)
		return
	}
	v.BlockedBy = reason.Failed
	if outcome == Refused {
		v.BlockedBy = reason.Refused
	}
	switch {
	case outcome == Gone, a.Kind == Unboost:
	case a.Kind == Evict:
		if outcome == Disallowed {
			v.BlockedBy = reason.PodDisruptionBudget
		}
	default:
		d.resizeFailed(now, s, a, outcome)
	}
}

func (d *Decision) done(now time.Time, s *State, a Action) {
	v := &d.Pods[a.at]
	v.Action, v.BlockedBy = a.Kind, reason.None
	if a.Kind == Evict {
		d.budget.RecordEviction(a.at)
		s.Circuit.RecordEviction(now, d.observed.Pods, d.observed.Recommended)
		return
	}
	// Upstream counts each boost that ends for itself.
	if a.Kind == Resize || d.policy.Divergences.Has(divergence.WorkloadBudget) {
		d.budget.RecordResize(a.at)
	}
	s.Circuit.RecordResize(now, v.Pod)
	s.Resize.ClearFailures(v.Pod)
}

// resizeFailed: upstream evicts at once where the mode allows it. What refuses a
// resize refuses a new pod as well, and is waited for.
func (d *Decision) resizeFailed(now time.Time, s *State, a Action, outcome Outcome) {
	v := &d.Pods[a.at]
	evicts := d.policy.Mode == vertical.ModeInPlaceOrRecreate
	if outcome == Infeasible && !evicts {
		v.BlockedBy = reason.InfeasibleBefore
		s.Resize.RecordInfeasible(v.Pod, d.observed.Recommended, d.nodeRoom(v.Pod))
		return
	}
	helpless := true
	if outcome != Infeasible && d.policy.Divergences.Has(divergence.ResizeBackoff) {
		helpless = s.Resize.RecordFailure(now, v.Pod) && outcome != Refused
		if outcome != Refused {
			v.BlockedBy = reason.BackingOff
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
