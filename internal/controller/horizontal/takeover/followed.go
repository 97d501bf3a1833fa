package takeover

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/follow"
)

// AnotherAutoscaler is why a WorkloadAutoscaler does not act whose target has another autoscaler.
const AnotherAutoscaler = "TargetHasAnotherAutoscaler"

// Followed is the replica count while another autoscaler has the target of a WorkloadAutoscaler. The worker that has
// the object owns it.
type Followed struct {
	isKnown bool
	count   int32
}

// Follow takes what the other autoscaler has written since the last decision into the history, so that the
// WorkloadAutoscaler begins where the other one stopped. The state is consumed.
func (f *Followed) Follow(p *horizontal.Policy, s horizontal.State, o *horizontal.Observation) horizontal.State {
	if o.Target.Error != "" {
		return s
	}
	count := o.Target.SpecReplicas
	if f.isKnown {
		s = follow.Count(p, s, follow.Change{At: time.Now(), From: f.count, To: count})
	}
	*f = Followed{isKnown: o.Refusal.Reason == AnotherAutoscaler, count: count}
	return s
}
