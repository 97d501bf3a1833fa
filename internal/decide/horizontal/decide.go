package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// NeedsReadings reports whether a decision on the observation uses the pods and the
// metrics' readings. If not, the controller collects none.
func NeedsReadings(p *Policy, s *State, o *Observation) bool {
	if o.Target.Selector.Problem != podselector.Fine {
		return false
	}
	switch branch(p, p.bounds(), o, o.ScaledToZero || isOwnZero(p, s, o)) {
	case BranchMetrics:
		return true
	case BranchAboveMax, BranchBelowMin:
		// Schedules may change the bounds.
		return p.WorkloadAutoscaler != nil || p.Divergences.Has(divergence.OutOfRange)
	default:
		return false
	}
}

// Decide computes how many replicas the target should have now. The state is
// consumed; the returned one takes its place, and the decision uses its buffers (see
// Decision). If the decision asks for a scale write, its outcome must be passed to Settle.
//
// The order of the steps is upstream's (pkg/controller/podautoscaler/
// horizontal.go, reconcileAutoscaler, v1.37.1): metrics, largest proposal,
// stabilization, rate, min and max.
func Decide(now time.Time, p *Policy, s State, o *Observation) (Decision, State) {
	s.Version, s.Pending = StateVersion, nil
	s.upgrade()
	if s.work == nil {
		s.work = new(workspace)
	}
	d := Decision{
		At: now, Trigger: o.Trigger, Current: o.Target.SpecReplicas, Desired: o.Target.SpecReplicas, Bounds: p.bounds(),
		Tolerance: p.Tolerance, Policy: p, Target: o.Target, Conflict: o.Conflict, Shown: o.Shown, Refusal: o.Refusal,
		IsScaledToZero: o.ScaledToZero,
	}
	d.schedule(s.work)
	s.ScaledToZero = isOwnZero(p, &s, o)
	d.IsOwnZero = s.ScaledToZero
	d.Branch = branch(p, d.Bounds, o, o.ScaledToZero || s.ScaledToZero)
	if d.Branch == BranchNoScale {
		return d, s
	}
	s.Count.Observe(now, o.Target.SpecReplicas, o.Target.StatusReplicas)
	if p.Divergences.Has(divergence.OtherWriter) {
		s.Overrides.Observe(now, o.Target.SpecReplicas)
	}
	isFirst := s.Recommendations.Empty()
	if isFirst {
		// Store the current count, so that a controller that has just started does not scale down before it has observed a
		// whole window.
		first := history.Recommendation{Time: now, Replicas: d.Current}
		behavior.Remember(&s.Recommendations, p.Divergences, first, time.Time{})
	}
	switch d.Branch {
	case BranchAboveMax:
		d.correct(d.lowered(&s), &s, o)
	case BranchBelowMin:
		d.correct(d.Bounds.MinReplicas, &s, o)
	case BranchMetrics:
		d.fromMetrics(&s, o)
	case BranchDisabled:
		s.Fallbacks.Clear()
	}
	if d.Metrics == nil {
		d.learn(&s, o)
	}
	if isFirst && d.isDeferred(o) {
		s.Recommendations = history.Recommendations{}
	}
	d.applyMode(&s)
	if d.Rescale {
		s.Pending = s.work.pend(p.Behavior, &d)
	}
	return d, s
}

func (p *Policy) bounds() schedules.Bounds {
	return schedules.Bounds{MinReplicas: p.MinReplicas, MaxReplicas: p.MaxReplicas}
}

// branch returns the kind of decision. A target at zero is switched off, unless this controller scaled it there
// (KEP-2021).
func branch(p *Policy, b schedules.Bounds, o *Observation, isScaledToZero bool) Branch {
	current := o.Target.SpecReplicas
	switch {
	case o.Target.Error != "":
		return BranchNoScale
	case current == 0 && !zero.ScalesUp(p.Metrics, p.MinReplicas, p.WorkloadAutoscaler != nil, isScaledToZero):
		return BranchDisabled
	case current == 0 && p.WorkloadAutoscaler == nil:
		return BranchMetrics
	case current > b.MaxReplicas:
		return BranchAboveMax
	case current < b.MinReplicas:
		return BranchBelowMin
	default:
		return BranchMetrics
	}
}

// isOwnZero reports whether this object scaled the target to zero. It does not use the condition alone, as upstream
// does, because the status write after the scale write may be lost. Where zero is an ordinary count of a
// WorkloadAutoscaler, or the count that it requests, any writer may have scaled the target there.
func isOwnZero(p *Policy, s *State, o *Observation) bool {
	if o.Target.Error != "" {
		return s.ScaledToZero
	}
	w := p.WorkloadAutoscaler
	switch {
	case o.Target.SpecReplicas != 0 || w == nil && !p.Divergences.Has(divergence.ZeroCondition):
		return false
	case s.ScaledToZero || w == nil || o.Refusal.Reason != "":
		return s.ScaledToZero
	case w.Mode == mode.Paused:
		return w.PausedReplicas != nil && *w.PausedReplicas == 0
	}
	return w.Mode == mode.Active && zero.MayBe(p.Metrics, p.MinReplicas)
}

// correct sets a count that is out of range to its bound, independent of the metrics. Upstream does not evaluate the
// metrics then. Plimsoll shows them, and does not write if the target has two autoscalers.
func (d *Decision) correct(bound int32, s *State, o *Observation) {
	if d.Policy.Divergences.Has(divergence.OutOfRange) {
		if o.Target.Selector.Problem == podselector.Ambiguous {
			d.Branch = BranchFailed
			return
		}
		if o.Target.Selector.Problem == podselector.Fine {
			d.evaluate(s, o)
			d.combine()
		}
	}
	d.Desired, d.Rescale = bound, bound != d.Current
}

func (d *Decision) fromMetrics(s *State, o *Observation) {
	p := d.Policy
	if o.Target.Selector.Problem != podselector.Fine {
		d.Branch = BranchFailed
		return
	}
	d.evaluate(s, o)
	if p.Divergences.Has(divergence.NewerSamples) || o.Trigger == trigger.Samples {
		d.Outdated = proposal.Outdated(d.At, &s.Count, d.Metrics)
	}
	before := s.Surges
	s.Surges.Judge(d.At, &d.Surge, d.Current, p.Metrics, d.Metrics)
	usable := d.combine() || d.mayFallFurther(s)
	if usable && d.Proposed.Replicas < d.Current && o.defersLowering() {
		// The surge history does not change either.
		d.Branch, s.Surges = BranchAwaiting, before
		return
	}
	if !usable {
		d.withoutProposal()
		return
	}
	// Upstream takes the proposal only if it is above zero.
	d.bound(s, max(0, d.Proposed.Replicas))
	d.Desired = d.Limited.Replicas
	if d.Current == 0 && d.Desired < p.MinReplicas {
		d.Desired, d.RaisedToMin = p.MinReplicas, true
	}
	switch {
	case d.scalesToZero(o) || d.Zero.Stays(d.Current, d.Proposed.Replicas):
		d.setAtOnce(0)
	case d.Zero.Returns(d.Current, d.Desired, p.Behavior):
		d.setAtOnce(1)
		d.Limited.LeftZero = true
	}
	d.holdBetweenPeriods(s)
	d.Rescale = d.Desired != d.Current
}

// mayFallFurther reports whether the count may fall to an earlier proposal that a rate has not permitted yet, on
// samples that are too old to ask for less: that proposal was computed with the count of its time, and is not
// multiplied again.
func (d *Decision) mayFallFurther(s *State) bool {
	isOwn := s.Count.IsLowered && !s.Count.IsForeign
	isUnreached := s.Unreached > 0 && s.Unreached < d.Current
	if d.Outdated == 0 || d.Failed > d.Fallbacks.Failed || d.Pending > 0 || !isOwn || !isUnreached {
		return false
	}
	d.Proposed.Replicas, d.Proposed.MayLower = max(d.Proposed.Replicas, s.Unreached), true
	return d.Proposed.Source != proposal.None
}

// holdBetweenPeriods keeps a count that new samples alone would lower: lowering is decided once in a sync period, as
// upstream. Decisions every second would use the lowest of many averages, and lower the count in many small steps.
func (d *Decision) holdBetweenPeriods(s *State) {
	if d.Trigger == trigger.Samples && d.At.Sub(s.LoweringAt).Abs() < trigger.LoweringPeriod {
		d.IsLoweringHeld = d.Desired < d.Current
		d.Desired = max(d.Desired, d.Current)
		return
	}
	s.LoweringAt = d.At
}

// withoutProposal keeps the count, or scales a target from zero to min. Upstream keeps it at zero for as long as no
// metric can be computed.
func (d *Decision) withoutProposal() {
	switch {
	case d.Pending > 0 || d.Outdated > 0 && d.Failed == 0:
		d.Branch = BranchAwaiting
	case d.Current == 0 && d.Bounds.MinReplicas > 0 && d.Policy.Divergences.Has(divergence.ZeroBelowMin):
		d.Branch, d.Desired, d.Rescale = BranchBelowMin, d.Bounds.MinReplicas, true
	default:
		d.Branch = BranchFailed
	}
}

func (d *Decision) context(o *Observation) metric.Context {
	p := d.Policy
	return metric.Context{
		Now: d.At, SpecReplicas: o.Target.SpecReplicas, StatusReplicas: o.Target.StatusReplicas,
		Pods: o.Pods, Tolerance: p.Tolerance, Namespace: p.Namespace,
		CPUInitializationPeriod: p.CPUInitializationPeriod, InitialReadinessDelay: p.InitialReadinessDelay,
		Divergences: p.Divergences, IsBetween: d.Trigger.IsBetween(),
	}
}

// unread is the reading of a metric that the observation has no reading for.
var unread = metric.Reading{Error: "the metric was not read"}

func (d *Decision) evaluate(s *State, o *Observation) {
	p, c := d.Policy, &s.work.context
	ready, since := metric.ReadyPods(o.Pods, d.At.Add(-p.CPUInitializationPeriod))
	s.Ready = s.Ready.Observe(d.At, ready, since)
	room := c.Room
	*c = d.context(o)
	c.Ready, c.Room, c.RaisedAt, c.Unreached = s.Ready, room, s.Count.RaisedAt(), s.Unreached
	d.Metrics = s.work.grow(len(p.Metrics), len(o.Pods))
	for i := range p.Metrics {
		reading := &unread
		switch {
		case p.WorkloadAutoscaler != nil && zero.IsWithoutPods(&p.Metrics[i], d.Current):
			reading = &noPods
		case i < len(o.Readings):
			reading = &o.Readings[i]
		}
		metric.Evaluate(&p.Metrics[i], reading, c, &d.Metrics[i])
		switch {
		case reading == &noPods:
		case d.Metrics[i].Failure != nil:
			d.Failed++
		case d.Metrics[i].Pending:
			d.Pending++
		}
	}
	in := surge.Input{Specs: p.Metrics, Readings: o.Readings, Results: d.Metrics, Context: c}
	d.Surge = surge.Evaluate(&p.Surge, &in)
	// The caller may reuse the observation.
	c.Pods, c.Ready = nil, nil
	d.evaluateOwn(s, o)
	d.learn(s, o)
}

// combine takes the largest of the proposals, the first of equals. The proposal is not usable if there is none or if it
// would lower the count and may not.
//
// Proposals come from the metrics that could be computed, from fallbacks, and from the surge window. While one metric
// failed and has no fallback, or has no values yet, the others may not lower the count: that metric might need it.
func (d *Decision) combine() (usable bool) {
	best := d.ofMetrics()
	if d.Surge.Proposes() {
		best = best.Or(proposal.Proposal{Source: proposal.Surge, Index: d.Surge.Metric, Replicas: d.Surge.Replicas})
	}
	d.Proposed = best
	return best.Source != proposal.None && (best.MayLower || best.Replicas >= d.Current)
}
