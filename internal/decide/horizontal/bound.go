package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// bound takes the wish through the windows, the rates, min and max.
func (d *Decision) bound(s *State, wish int32) {
	p := d.policy
	limits := behavior.Limits{
		MinReplicas: p.MinReplicas, MaxReplicas: p.MaxReplicas, Behavior: p.Behavior,
		DownscaleStabilization: p.DownscaleStabilization, Divergences: p.Divergences,
	}
	past := behavior.History{
		Recommendations: &s.Recommendations, Ups: s.ScaleUps, Downs: s.ScaleDowns,
		LastUp: s.LastScaleUp, LastUpOn: s.LastScaleUpOn,
	}
	lasting := proposal.Lasting(d.Metrics, &s.work.context, s.Surges.Without)
	w := behavior.Proposed{
		Now: d.At, Current: d.Current, Replicas: wish, Passing: max(0, wish-lasting), PassingHold: surge.Confirmation,
		Fresh: proposal.Fresh(d.At, &past, d.Metrics, &d.Surge),
	}
	d.Stabilized = behavior.Stabilize(&limits, &past, w)
	w.Replicas = d.Stabilized.Replicas
	d.Limited = behavior.Limit(&limits, &past, w)
	s.Surges.Decided(d.Current, d.Limited.Replicas, lasting, d.Proposed.Source == proposal.Surge)
}
