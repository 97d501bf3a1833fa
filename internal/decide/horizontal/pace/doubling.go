package pace

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
)

// Without behavior an object may double at each decision. Upstream decides once
// in a sync period. Plimsoll decides when something is known, which may be
// milliseconds later, on values that do not show the new replicas yet.
const (
	// doublingPeriod is how long a scale-up keeps the next one away.
	doublingPeriod = time.Second
	// longestHold is how long old samples do. A source whose clock is behind, or
	// always says the same time, must not end scaling up for good.
	longestHold = time.Minute
)

// Hold is why an object without behavior may not double.
type Hold uint8

// The reasons.
const (
	// NotHeld is none: it may.
	NotHeld Hold = iota
	// TooSoon says that it has just been scaled up.
	TooSoon
	// NothingNewer says that the samples of the metrics that ask for more are not
	// newer than the last scale-up.
	NothingNewer
)

// String is the reason as explanations print it.
func (h Hold) String() string {
	return [...]string{"", "too soon after the last scale-up", "no sample is newer than the last scale-up"}[h]
}

// Fresh reports whether a sample was taken after the last scale-up. One that
// does not say when counts as new.
func (h *History) Fresh(now, sampled time.Time) bool {
	return sampled.IsZero() || sampled.After(h.LastUp) || h.sinceUp(now) >= longestHold
}

// sinceUp has no sign: whoever set its clock back must not wait for it.
func (h *History) sinceUp(now time.Time) time.Duration { return now.Sub(h.LastUp).Abs() }

// doubling is how far an object without behavior may go: to the double, or to
// four replicas.
func doubling(l *Limits, h *History, w Wish) (rate int32, held Hold) {
	const factor, least = 2, 4
	rate = l.arithmetic().Trunc32(math.Max(factor*float64(w.Current), least))
	fresh := max(w.Current, w.Fresh)
	switch {
	case !l.Divergences.Has(divergence.OneDoubling) || h.LastUp.IsZero():
		return rate, NotHeld
	case h.sinceUp(w.Now) < doublingPeriod:
		return w.Current, TooSoon
	case fresh < rate:
		return fresh, NothingNewer
	default:
		return rate, NotHeld
	}
}
