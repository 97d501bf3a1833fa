package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// Limits are what the policy allows.
func (p *Policy) Limits() behavior.Limits {
	return behavior.Limits{
		MinReplicas: p.MinReplicas, MaxReplicas: p.MaxReplicas, Behavior: p.Behavior,
		DownscaleStabilization: p.DownscaleStabilization, Divergences: p.Divergences,
	}
}

// History is what the limits look back on. It shares the state's memory.
func (s *State) History() behavior.History {
	return behavior.History{
		Recommendations: &s.Recommendations, Ups: s.ScaleUps, Downs: s.ScaleDowns,
		LastUp: s.LastScaleUp, LastUpOn: s.LastScaleUpOn,
	}
}

// bound takes the proposal through the windows, the rates, min and max.
func (d *Decision) bound(s *State, proposed int32) {
	limits, past := d.policy.Limits(), s.History()
	lasting := proposal.Lasting(d.Metrics, &s.work.context, s.Surges.Without)
	w := behavior.Proposed{
		Now: d.At, Current: d.Current, Replicas: proposed,
		Passing: max(0, proposed-lasting), PassingWindow: surge.Confirmation,
		Fresh: proposal.Fresh(d.At, &past, d.Metrics, &d.Surge),
	}
	d.Stabilized = behavior.Stabilize(&limits, &past, w)
	w.Replicas = d.Stabilized.Replicas
	d.Limited = behavior.Limit(&limits, &past, w)
	s.Surges.Decided(d.Current, d.Limited.Replicas, lasting, d.Proposed.Source == proposal.Surge)
}
