package update

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// nextStep returns the next step by the state of the pod's last resize. Upstream sends a resize in mode InPlace
// although it has just decided to wait.
func (d *Decision) nextStep(s *State, i int) (resize.Step, reason.Reason) {
	p := d.policy.resize()
	budget := resize.Budget{BlockedBy: d.budget.BlockedBy(i), DisruptionBlockedBy: d.budget.DisruptionBlockedBy(i)}
	step, why := s.Resize.Decide(d.At, &p, &d.pods[i], d.observed.Recommended, budget)
	if step == resize.Wait && d.policy.Mode == vertical.ModeInPlace &&
		!d.policy.Divergences.Has(divergence.InPlaceBudget) {
		return resize.Resize, reason.None
	}
	return step, why
}

// planResize returns the action of a resize, or why there is none. evict is set if the pod is to be evicted instead. It
// checks the budget again, because earlier pods may have used it up.
func (p *play) planResize(s *State, i int) (action Action, blockedBy reason.Reason, evict bool) {
	// A reason that blocks the whole group blocks it in every mode.
	if why := p.budget.BlockedBy(i); why != reason.None {
		return Action{}, why, false
	}
	v := &p.Pods[i]
	action = Action{Kind: Resize, Pod: v.Pod, Reason: v.Reason, Unboosted: p.expiredBoosts(i), at: i}
	action.Targets = p.targets(v.Pod, v.fitted, action.Unboosted)
	switch step, why := p.nextStep(s, i); step {
	case resize.Evict:
		return Action{}, reason.None, true
	case resize.Skip, resize.Wait:
		return Action{}, why, false
	case resize.Retry:
		s.Resize.RecordInfeasible(v.Pod, p.observed.Recommended, p.nodeRoom(v.Pod))
		if p.policy.Divergences.Has(divergence.InPlaceBudget) && !resize.Changes(v.Pod, action.Targets) {
			// The node would refuse the same again.
			return Action{}, reason.InfeasibleBefore, false
		}
	case resize.RetryDifferent:
		if !resize.Changes(v.Pod, action.Targets) {
			return Action{}, resize.InProgress(v.Pod), false
		}
	}
	if p.policy.Divergences.Has(divergence.ResizeChecks) {
		blockedBy, evict = p.checkResize(s, v, action.Targets)
	}
	return action, blockedBy, evict
}

// checkResize checks whether the resize can succeed. If only a new pod can have the resources, and the mode permits it,
// the pod is evicted.
func (p *play) checkResize(s *State, v *Verdict, targets []resize.Target) (blockedBy reason.Reason, evict bool) {
	constraints := p.constraints(v.Pod)
	evicts := p.policy.resize().Evicts
	v.CheckResults = resize.Check(v.Pod, targets, &constraints)
	if len(v.CheckResults) > 0 {
		blockedBy = v.CheckResults[0]
		switch resize.RemedyOf(v.CheckResults) {
		case resize.RemedyNewPod:
			evict = evicts
		case resize.RemedyWait:
			evict = evicts && s.Resize.WaitForChecks(p.At, v.Pod)
		}
	} else {
		s.Resize.EndWait(v.Pod)
		if resize.NeedsRestart(v.Pod, targets) {
			v.CheckResults, evict = []reason.Reason{reason.FixedHeap}, evicts
		}
	}
	if resize.NamesInit(v.Pod, p.observed.Recommended) {
		v.CheckResults = append(v.CheckResults, reason.InitContainer)
	}
	return blockedBy, evict
}

// constraints returns the bounds of a resize of the pod.
func (p *play) constraints(pod *vertical.Pod) resize.Constraints {
	cluster := &p.observed.Cluster
	return resize.Constraints{
		Unsupported: cluster.Unsupported, Node: cluster.Nodes[pod.Node].Without(pod), Ranges: p.observed.Ranges,
		Quotas: cluster.Quotas,
		Used:   cluster.Used[pod.UID],
	}
}

// newPodBlockedBy returns why the API server would not admit a new pod. Then the pod is not evicted. For a resize,
// checkResize has checked this before.
func (d *Decision) newPodBlockedBy(i int) reason.Reason {
	v := &d.Pods[i]
	if !d.policy.Divergences.Has(divergence.ResizeChecks) || v.fitted == nil {
		return reason.None
	}
	return resize.NewPodBlockedBy(v.Pod, d.targets(v.Pod, v.fitted, nil), d.observed.Ranges, d.observed.Cluster.Quotas)
}

// Refusal returns why the API server would refuse a pod with its recommendation; false if it would not.
func (d *Decision) Refusal(v *Verdict) (bounds.Refusal, bool) {
	return resize.Refusal(v.Pod, d.targets(v.Pod, v.fitted, nil), d.observed.Ranges)
}

// nodeRoom returns the room of the pod's node for it.
func (d *Decision) nodeRoom(pod *vertical.Pod) vertical.Amounts {
	return d.observed.Cluster.Nodes[pod.Node].Without(pod).Room()
}

// proportional returns requests with limits in proportion.
func (d *Decision) proportional(c *vertical.PodContainer, requests vertical.Amounts) vertical.Resized {
	target := vertical.Resized{Requests: requests}
	if vertical.PolicyOf(d.policy.Containers, c.Name).Values == vertical.RequestsAndLimits ||
		d.policy.Mode == vertical.ModeOff {
		var defaults vertical.Amounts
		if d.observed.Ranges != nil {
			defaults = d.observed.Ranges.Container.Default
		}
		target.Limits, _ = bounds.ProportionalLimits(c.Requests, c.Limits, defaults, requests)
	}
	return target
}
