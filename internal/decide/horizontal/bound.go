package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/load"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// Limits returns what the policy allows in a decision. They do not apply to the last replica of a target that may go to
// zero: see scalesToZero.
func (p *Policy) Limits(d *Decision) behavior.Limits {
	least := d.Bounds.MinReplicas
	if d.Zero.IsPossible && d.Current > 0 {
		least = max(1, least)
	}
	return behavior.Limits{
		MinReplicas: least, MaxReplicas: d.Bounds.MaxReplicas, Behavior: p.Behavior,
		DownscaleStabilization: p.DownscaleStabilization, Divergences: p.Divergences,
	}
}

// History returns what the limits look back on. It shares the state's memory.
func (s *State) History() behavior.History {
	return behavior.History{
		Recommendations: &s.Recommendations, Ups: s.ScaleUps, Downs: s.ScaleDowns,
	}
}

// bound applies the windows, the rates, min and max to the proposal.
func (d *Decision) bound(s *State, proposed int32) {
	limits, past := d.Policy.Limits(d), s.History()
	// Fallbacks and schedules have no part that only some seconds ask for.
	others := d.Proposed.OfOthers(d.Fallbacks.Active)
	lasting := max(others, proposal.Lasting(d.Metrics, &s.work.context, s.Surges.Without))
	w := behavior.Proposed{
		Now: d.At, Current: d.Current, Replicas: proposed,
		Passing: max(0, proposed-lasting), PassingWindow: surge.Confirmation, IsBetween: d.Trigger.IsBetween(),
		Fresh: max(others, proposal.Fresh(&s.Count, d.Metrics, &d.Surge)),
	}
	d.Stabilized = behavior.Stabilize(&limits, &past, w)
	w.Replicas = d.Stabilized.Replicas
	if d.Policy.Forecast.Mode == forecast.Active && d.Failed-d.Fallbacks.Failed+d.Pending == 0 {
		// The forecast is not stored as a recommendation of its own: after it, the proposals of metrics count.
		d.ForecastReplicas = proposal.OfForecast(&d.Forecast, d.Current, w.Replicas, d.Policy.Tolerance.Down)
		w.Replicas, w.Fresh = max(w.Replicas, d.ForecastReplicas), max(w.Fresh, d.ForecastReplicas)
		lasting = max(lasting, d.ForecastReplicas)
	}
	d.Limited = behavior.Limit(&limits, &past, w)
	s.Unreached = 0
	if d.Limited.Reason == behavior.ScaleDownLimit || d.Limited.Reason == behavior.ScaleUpLimit {
		s.Unreached = d.Stabilized.Replicas
	}
	if d.Mode() == mode.Active {
		s.Surges.Decided(d.Current, d.Limited.Replicas, lasting, d.Proposed.Source == proposal.Surge)
	}
}

// learn feeds the load to the forecast and stores its result.
func (d *Decision) learn(s *State, o *Observation) {
	p := d.Policy
	in := load.Input{
		Now: d.At, MinReplicas: d.Bounds.MinReplicas, MaxReplicas: d.Bounds.MaxReplicas, StartUp: o.StartUp,
		Tolerance: p.Tolerance.Up, Specs: p.Metrics, Readings: o.Readings, Results: d.Metrics, Pods: o.Pods,
		Current: d.Current,
	}
	d.Load = load.Of(&in)
	d.Forecast = load.Forecast(&p.Forecast, &s.Forecast, &in, d.Load)
}
