package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// WorkloadAutoscaler has the settings that an HPA does not have; source.Spec has those of metrics. It is immutable.
type WorkloadAutoscaler struct {
	Mode mode.Mode
	// PausedReplicas is the replica count in mode Paused; nil keeps it as it is.
	PausedReplicas *int32
	Schedules      []schedules.Schedule
	Zero           zero.Settings
}

func (d *Decision) schedule(work *workspace) {
	if w := d.Policy.WorkloadAutoscaler; w != nil && len(w.Schedules) > 0 {
		d.Schedules = work.schedules.At(d.At, w.Schedules, d.Bounds)
		d.Bounds = d.Schedules.Bounds
	}
}

// lowered returns the count that one above the max is lowered to: at once to the max of the spec, as upstream does, and
// from there to that of a schedule as fast as the policies permit. No window delays it: windows protect from
// fluctuating metrics, and a schedule's time is known.
func (d *Decision) lowered(s *State) int32 {
	p, bound := d.Policy, d.Bounds.MaxReplicas
	if p.Behavior == nil || bound == p.MaxReplicas {
		return bound
	}
	limits, past := p.Limits(d), s.History()
	limited := behavior.Limit(&limits, &past, behavior.Proposed{Now: d.At, Current: d.Current, Replicas: bound})
	if limited.Replicas < p.MaxReplicas {
		d.Limited = limited
	}
	return min(p.MaxReplicas, limited.Replicas)
}

// Mode returns the object's mode; Preview if the decision may not be carried out.
func (d *Decision) Mode() mode.Mode {
	switch w := d.Policy.WorkloadAutoscaler; {
	case d.Refusal.Reason != "":
		return mode.Preview
	case w != nil:
		return w.Mode
	}
	return mode.Active
}

// noPods is the reading of a metric of the pods while there are none.
var noPods = metric.Reading{Pending: true}

// evaluateOwn finds the active fallbacks and whether the target may go to zero.
func (d *Decision) evaluateOwn(s *State, o *Observation) {
	p := d.Policy
	if p.WorkloadAutoscaler == nil {
		return
	}
	s.Fallbacks.Update(&fallback.Input{Now: d.At, Specs: p.Metrics, Results: d.Metrics, Current: d.Current},
		&s.work.fallbacks)
	d.Fallbacks = s.work.fallbacks
	d.Zero = zero.Evaluate(&p.WorkloadAutoscaler.Zero, &zero.Input{
		Now: d.At, CreatedAt: o.CreatedAt, Specs: p.Metrics, Results: d.Metrics, Fallbacks: d.Fallbacks.Active,
		IsAboveZero: d.Bounds.MinReplicas > 0, Current: d.Current,
		UnknownSince: s.UnknownSince,
	}, &s.IdleSince)
	s.UnknownSince = d.Zero.UnknownSince
}

// mayLower reports whether the decision may lower the count: every metric could be computed or has an active fallback,
// and no values are awaited.
func (d *Decision) mayLower() bool {
	return d.Failed-d.Fallbacks.Failed+d.Pending+d.Outdated == 0
}

// ofMetrics returns the largest proposal of the metrics, including their fallbacks.
func (d *Decision) ofMetrics() (best proposal.Proposal) {
	p, mayLower := d.Policy, d.mayLower()
	if best = proposal.OfMetrics(d.Metrics, mayLower); d.Zero.IsIdle {
		best = zero.Inactive(p.Metrics, d.Metrics, mayLower)
	}
	best = best.OrFallback(d.Fallbacks.Active, mayLower)
	switch {
	case p.WorkloadAutoscaler != nil && len(p.Metrics) == 0:
		// Only the schedules propose replicas.
		return proposal.Proposal{Source: proposal.Schedule, Replicas: d.Bounds.MinReplicas, MayLower: true}
	case d.Current == 0 && d.Zero.IsActive && best.Replicas < 1:
		return proposal.Proposal{Source: proposal.Metric, Index: d.Zero.Metric, Replicas: 1, MayLower: mayLower}
	}
	return best
}

// scalesToZero reports whether the last replica is removed: no metric has been active for the cooldown. Windows and
// rates limit the way down to one replica, but not this last step.
func (d *Decision) scalesToZero(o *Observation) bool {
	p := d.Policy
	return d.Zero.IsCooledDown && d.Current == 1 && d.Limited.Replicas <= 1 && d.Proposed.Replicas <= 1 &&
		d.Proposed.MayLower && !o.defersLowering() && zero.MayBe(p.Metrics, p.MinReplicas) &&
		(p.Behavior == nil || p.Behavior.Down.Select != behavior.SelectDisabled)
}

// setAtOnce sets a count that windows and rates do not limit.
func (d *Decision) setAtOnce(replicas int32) {
	d.Desired, d.Limited.Replicas, d.Limited.Reason = replicas, replicas, behavior.DesiredWithinRange
	d.Stabilized = behavior.Stabilized{Reason: behavior.ReadyForNewScale}
}

func (d *Decision) applyMode(s *State) {
	d.ActiveDesired = d.Desired
	switch d.Mode() {
	case mode.Preview:
		d.Rescale = false
	case mode.Paused:
		d.Desired = d.Current
		if held := d.Policy.WorkloadAutoscaler.PausedReplicas; held != nil &&
			d.Target.Selector.Problem != podselector.Ambiguous {
			d.Desired = min(*held, d.Policy.MaxReplicas)
		}
		if d.Rescale = d.Desired != d.Current; d.Rescale || d.Branch != BranchAwaiting {
			d.Branch = BranchPaused
		}
	}
	if d.Branch != BranchAwaiting && d.Metrics != nil {
		s.Fallbacks.Confirm()
	}
}

// Proposals appends the proposal of each source: metrics, the surge window, fallbacks, schedules and the forecast.
func (d *Decision) Proposals(dst []proposal.Proposal) []proposal.Proposal {
	return (&proposal.Sources{
		Specs: d.Policy.Metrics, Metrics: d.Metrics, Surge: &d.Surge, Fallbacks: d.Fallbacks.Active,
		Schedules: d.Schedules.InForce, IsIdle: d.Zero.IsIdle, Forecast: &d.Forecast,
		ForecastMode: d.Policy.Forecast.Mode, Ahead: d.ForecastReplicas,
	}).Append(dst)
}

// Winner returns the proposal that determines the count, before its rate, min and max.
func (d *Decision) Winner() proposal.Proposal {
	if d.ForecastReplicas > 0 {
		return proposal.Proposal{Source: proposal.Forecast, Replicas: d.ForecastReplicas}
	}
	return d.Proposed
}
