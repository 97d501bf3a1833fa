package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/pace"
	"github.com/plimsoll-dev/plimsoll/internal/decide/signal"
)

// NeedsReadings reports whether a decision on the observation looks at the
// pods and the metrics' readings, so that the shell collects no others.
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

// Decide says how many replicas the target shall have now. The state is
// consumed; the one returned takes its place. If the decision asks for a scale
// write, Settle must be told what became of it.
//
// The order of the steps is upstream's (pkg/controller/podautoscaler/
// horizontal.go, reconcileAutoscaler, v1.37.1): metrics, largest wish,
// stabilization, rate, min and max.
func Decide(now time.Time, p *Policy, s State, o *Observation) (Decision, State) {
	s.Version, s.Pending = StateVersion, nil
	d := Decision{
		At: now, Branch: branch(p, o), Current: o.Target.SpecReplicas,
		policy: p, target: o.Target, scaledToZero: o.ScaledToZero,
	}
	d.Desired = d.Current
	if d.Branch == BranchNoScale {
		return d, s
	}
	if s.Recommendations.Empty() {
		// The count as it stands, so that a controller that has just started does
		// not scale down before it has seen a whole window.
		first := signal.Recommendation{Time: now, Replicas: d.Current}
		pace.Remember(&s.Recommendations, p.Divergences, first, time.Time{})
	}
	switch d.Branch {
	case BranchAboveMax:
		d.correct(p.MaxReplicas, o)
	case BranchBelowMin:
		d.correct(p.MinReplicas, o)
	case BranchMetrics:
		d.fromMetrics(&s, o)
	}
	if d.Rescale && (p.Behavior != nil || p.Divergences.Has(divergence.OneDoubling)) {
		s.Pending = pending(p.Behavior, d.Desired-d.Current)
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
		if p.Metrics[i].Type == metric.Object || p.Metrics[i].Type == metric.External {
			return true
		}
	}
	return false
}

// correct brings a count that is out of range to its bound, whatever the
// metrics say. Upstream looks at nothing else; Plimsoll shows the metrics all
// the same and does not fight over a target that has two autoscalers.
func (d *Decision) correct(bound int32, o *Observation) {
	if d.policy.Divergences.Has(divergence.OutOfRange) {
		if o.Target.Selector.Problem == SelectorAmbiguous {
			d.Branch = BranchFailed
			return
		}
		if o.Target.Selector.Problem == SelectorFine {
			d.evaluate(o)
			d.Wish, _ = combine(d.proposals(), d.Current)
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
	d.evaluate(o)
	var usable bool
	if d.Wish, usable = combine(d.proposals(), d.Current); !usable {
		d.Branch = BranchFailed
		return
	}
	// Upstream takes the wish only if it is above zero.
	d.bound(s, max(0, d.Wish.Replicas))
	d.Desired = d.Limited.Replicas
	if d.Current == 0 && d.Desired < p.MinReplicas {
		d.Desired, d.RaisedToMin = p.MinReplicas, true
	}
	d.Rescale = d.Desired != d.Current
}

func (d *Decision) evaluate(o *Observation) {
	p := d.policy
	c := metric.Context{
		Now: d.At, SpecReplicas: o.Target.SpecReplicas, StatusReplicas: o.Target.StatusReplicas,
		Pods: o.Pods, Tolerance: p.Tolerance, Namespace: p.Namespace,
		CPUInitializationPeriod: p.CPUInitializationPeriod, InitialReadinessDelay: p.InitialReadinessDelay,
		Divergences: p.Divergences,
	}
	d.Metrics = make([]metric.Result, len(p.Metrics))
	for i := range p.Metrics {
		reading := &metric.Reading{Error: "the metric was not read"}
		if i < len(o.Readings) {
			reading = &o.Readings[i]
		}
		d.Metrics[i] = metric.Evaluate(&p.Metrics[i], reading, &c)
		if d.Metrics[i].Failure != nil {
			d.Failed++
		}
	}
}

// proposals are the wishes of the metrics that could be computed. While one
// could not, the others may not lower the count: it might be the one that
// needs it.
func (d *Decision) proposals() []Proposal {
	wishes := make([]Proposal, 0, len(d.Metrics))
	for i := range d.Metrics {
		if d.Metrics[i].Failure == nil {
			wishes = append(wishes, Proposal{
				Source: SourceMetric, Index: i, Replicas: d.Metrics[i].Replicas, MayLower: d.Failed == 0,
			})
		}
	}
	return wishes
}

// combine takes the largest wish, the first of equals. It is not usable if
// there is none or if it would lower the count and may not.
func combine(wishes []Proposal, current int32) (best Proposal, usable bool) {
	for _, w := range wishes {
		// As upstream, a wish for zero gives way to any later one.
		if best.Replicas == 0 || w.Replicas > best.Replicas {
			best = w
		}
	}
	return best, best.Source != SourceNone && (best.MayLower || best.Replicas >= current)
}

func pending(b *Behavior, change int32) *Pending {
	if b == nil {
		return &Pending{Change: change}
	}
	rules := &b.Up
	if change < 0 {
		rules = &b.Down
	}
	var longest time.Duration
	for _, policy := range rules.Policies {
		longest = max(longest, policy.Period)
	}
	return &Pending{Change: change, Longest: longest}
}
