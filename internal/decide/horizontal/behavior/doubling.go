package behavior

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// doubling returns the limit for an object without behavior in one decision: the double count, or four replicas
// (upstream: calculateScaleUpLimit). Upstream decides once in a sync period, on responses that it requests then.
// Plimsoll decides on the same response again when pods change, and must not double again on it: isHeld is set if it
// would.
func doubling(l *Limits, w Proposed) (rate int32, isHeld bool) {
	const factor, least = 2, 4
	rate = l.arithmetic().Trunc32(math.Max(factor*float64(w.Current), least))
	if fresh := max(w.Current, w.Fresh); fresh < rate && l.Divergences.Has(divergence.OneDoubling) {
		return fresh, true
	}
	return rate, false
}
