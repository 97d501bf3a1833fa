package behavior

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// doubling returns how far an object without behavior may go in one decision: to the double, or to four replicas
// (upstream: calculateScaleUpLimit). Upstream decides once in a sync period, on answers that it asks for then. Plimsoll
// decides on the same answer again when pods change: that is no reason to double again, and isHeld says that it would.
func doubling(l *Limits, w Proposed) (rate int32, isHeld bool) {
	const factor, least = 2, 4
	rate = l.arithmetic().Trunc32(math.Max(factor*float64(w.Current), least))
	if fresh := max(w.Current, w.Fresh); fresh < rate && l.Divergences.Has(divergence.OneDoubling) {
		return fresh, true
	}
	return rate, false
}
