package horizontal

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// OtherChange is a change of the replica count by another autoscaler.
type OtherChange struct {
	At       time.Time
	From, To int32
}

// CountOther counts the change as this autoscaler's own: a scale event, and a recommendation of at least as many
// replicas if the count rose, of at most as many if it fell. When it starts to act, its windows and the periods of its
// rate policies apply as if it had made the change. The state is consumed.
func CountOther(p *Policy, s State, c OtherChange) State {
	if c.From == c.To || s.Recommendations.Empty() {
		return s
	}
	if p.Divergences.Has(divergence.WindowHistory) {
		high, low := c.To, int32(math.MaxInt32)
		if c.To < c.From {
			high, low = 0, c.To
		}
		s.Recommendations.AddBoth(c.At, high, low)
	}
	pending := behavior.PendingOf(p.Behavior, c.From, c.To)
	s.Pending = &pending
	s = Settle(s, Outcome{At: c.At})
	// The user may have switched the target off.
	s.ScaledToZero = false
	return s
}
