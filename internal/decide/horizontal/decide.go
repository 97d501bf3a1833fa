package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// NeedsReadings reports whether a decision on the observation uses the pods and the
// metrics' readings. If not, the controller collects none.
func NeedsReadings(p *Policy, o *Observation) bool {
	if o.Target.Selector.Problem != SelectorFine {
		return false
	}
	switch branch(p, o) {
	case BranchMetrics:
		return true
	case BranchAboveMax, BranchBelowMin:
		return p.Divergences.Has(divergence.OutOfRange)
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
	if s.work == nil {
		s.work = new(workspace)
	}
	d := Decision{
		At: now, Branch: branch(p, o), Trigger: o.Trigger, Current: o.Target.SpecReplicas,
		policy: p, target: o.Target, conflict: o.Conflict,
	}
	d.Desired = d.Current
	if d.Branch == BranchNoScale {
		return d, s
	}
	isFirst := s.Recommendations.Empty()
	if isFirst {
		// The count as it stands, so that a controller that has just started does
		// not scale down before it has seen a whole window.
		first := history.Recommendation{Time: now, Replicas: d.Current}
		behavior.Remember(&s.Recommendations, p.Divergences, first, time.Time{})
	}
	switch d.Branch {
	case BranchAboveMax:
		d.correct(p.MaxReplicas, s.work, o)
	case BranchBelowMin:
		d.correct(p.MinReplicas, s.work, o)
	case BranchMetrics:
		d.fromMetrics(&s, o)
	}
	if isFirst && d.isDeferred(o) {
		s.Recommendations = history.Recommendations{}
	}
	if d.Rescale && (p.Behavior != nil || p.Divergences&(divergence.OneDoubling|divergence.NewerSamples) != 0) {
		s.Pending = s.work.pend(p.Behavior, d.Desired-d.Current, d.Metrics)
	}
	return d, s
}

// branch chooses the way. A target at zero is switched off, unless it was this
// controller that scaled it there (KEP-2021).
func branch(p *Policy, o *Observation) Branch {
	current := o.Target.SpecReplicas
	switch {
	case o.Target.Error != "":
		return BranchNoScale
	case current == 0 && o.ScaledToZero && (p.MinReplicas != 0 || p.seesZero()):
		return BranchMetrics
	case current == 0:
		return BranchDisabled
	case current > p.MaxReplicas:
		return BranchAboveMax
	case current < p.MinReplicas:
		return BranchBelowMin
	default:
		return BranchMetrics
	}
}

// seesZero reports whether a metric has values without pods.
func (p *Policy) seesZero() bool {
	for i := range p.Metrics {
		if p.Metrics[i].Type == source.Object || p.Metrics[i].Type == source.External {
			return true
		}
	}
	return false
}

// correct brings a count that is out of range to its bound, independent of the
// metrics. Upstream evaluates nothing else. Plimsoll shows the metrics all the same, and
// does not write if the target has two autoscalers.
func (d *Decision) correct(bound int32, w *workspace, o *Observation) {
	if d.policy.Divergences.Has(divergence.OutOfRange) {
		if o.Target.Selector.Problem == SelectorAmbiguous {
			d.Branch = BranchFailed
			return
		}
		if o.Target.Selector.Problem == SelectorFine {
			d.evaluate(w, o)
			d.combine()
		}
	}
	d.Desired, d.Rescale = bound, true
}

func (d *Decision) fromMetrics(s *State, o *Observation) {
	p := d.policy
	if o.Target.Selector.Problem != SelectorFine {
		d.Branch = BranchFailed
		return
	}
	d.evaluate(s.work, o)
	if p.Divergences.Has(divergence.NewerSamples) {
		d.Outdated = proposal.Outdated(d.At, s.LastScaleUp, d.Metrics)
	}
	before := s.Surges
	s.Surges.Judge(d.At, &d.Surge, d.Current, p.Metrics, d.Metrics)
	usable := d.combine()
	if usable && d.Proposed.Replicas < d.Current && o.defersLowering() {
		// The surge history does not change either.
		d.Branch, s.Surges = BranchAwaiting, before
		return
	}
	if !usable {
		if d.Branch = BranchFailed; d.Pending > 0 || d.Outdated > 0 && d.Failed == 0 {
			d.Branch = BranchAwaiting
		}
		return
	}
	// Upstream takes the proposal only if it is above zero.
	d.bound(s, max(0, d.Proposed.Replicas))
	d.Desired = d.Limited.Replicas
	if d.Current == 0 && d.Desired < p.MinReplicas {
		d.Desired, d.RaisedToMin = p.MinReplicas, true
	}
	d.Rescale = d.Desired != d.Current
}

// context is what all metrics of the decision share.
func (d *Decision) context(o *Observation) metric.Context {
	p := d.policy
	return metric.Context{
		Now: d.At, SpecReplicas: o.Target.SpecReplicas, StatusReplicas: o.Target.StatusReplicas,
		Pods: o.Pods, Tolerance: p.Tolerance, Namespace: p.Namespace,
		CPUInitializationPeriod: p.CPUInitializationPeriod, InitialReadinessDelay: p.InitialReadinessDelay,
		Divergences: p.Divergences,
	}
}

// unread is the reading of a metric that the observation has no reading for.
var unread = metric.Reading{Error: "the metric was not read"}

func (d *Decision) evaluate(w *workspace, o *Observation) {
	p, c := d.policy, &w.context
	*c = d.context(o)
	d.Metrics = w.grow(len(p.Metrics), len(o.Pods))
	for i := range p.Metrics {
		reading := &unread
		if i < len(o.Readings) {
			reading = &o.Readings[i]
		}
		metric.Evaluate(&p.Metrics[i], reading, c, &d.Metrics[i])
		switch {
		case d.Metrics[i].Failure != nil:
			d.Failed++
		case d.Metrics[i].Pending:
			d.Pending++
		}
	}
	d.Surge = surge.Evaluate(&p.Surge,
		&surge.Input{Specs: p.Metrics, Readings: o.Readings, Results: d.Metrics, Context: c})
	// The caller may reuse the observation.
	c.Pods = nil
}

// combine takes the largest of the proposals, the first of equals. The proposal is
// not usable if there is none or if it would lower the count and may not.
//
// Proposals come from the metrics that could be computed, and from the surge
// window. While one metric could not, or has no values yet, the others may not lower
// the count: it might be the one that needs it.
func (d *Decision) combine() (usable bool) {
	best := proposal.OfMetrics(d.Metrics, d.Failed+d.Pending+d.Outdated == 0)
	if d.Surge.Asks() {
		best = best.Or(proposal.Proposal{Source: proposal.Surge, Index: d.Surge.Metric, Replicas: d.Surge.Replicas})
	}
	d.Proposed = best
	return best.Source != proposal.None && (best.MayLower || best.Replicas >= d.Current)
}
