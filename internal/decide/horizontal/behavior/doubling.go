package behavior

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Without behavior an HPA may double its replica count at every decision. Upstream decides
// once in a sync period. Plimsoll decides when a value is new, which may be milliseconds
// later, on values that do not show the new replicas yet.
const (
	// DoublingPeriod is how long an HPA without behavior waits after a scale-up before the
	// next one.
	DoublingPeriod = time.Second
	// longestDelay is how long old samples delay a doubling. A source whose clock is behind,
	// or that always gives the same time, must not end scaling up for good.
	longestDelay = time.Minute
)

// DoublingDelay is why an HPA without behavior may not double its replica count now.
type DoublingDelay uint8

// The reasons.
const (
	// NotDelayed is none: it may.
	NotDelayed DoublingDelay = iota
	// TooSoon says that it has just been scaled up.
	TooSoon
	// NothingNewer says that the metrics that ask for more have no value that was not
	// known at the last scale-up.
	NothingNewer
)

// String is the reason as explanations print it.
func (d DoublingDelay) String() string {
	return [...]string{"", "too soon after the last scale-up", "no sample is newer than the last scale-up"}[d]
}

// Sample says where the value of a metric comes from, as far as it takes to know
// whether a later one is another.
type Sample struct {
	// At is when it was taken, by the clock of its source; zero if the source gives no time.
	At time.Time `json:"at,omitzero"`
	// Interval is when the newest single interval ended that the decision used beside it: of a new pod, or of the surge
	// window. Averages may end long before; zero if it used none.
	Interval time.Time `json:"interval,omitzero"`
	// Asked is when the answer was asked for, by the clock of this process; zero for
	// samples that are there without asking.
	Asked time.Time `json:"asked,omitzero"`
	// Total is the value, where it is one for the whole target.
	Total int64 `json:"total,omitempty"`
}

// Fresh reports whether the metric in that place has another sample than the one
// that the last scale-up was decided on.
//
// An answer that was asked for before the scale-up is not, whatever time it gives. One
// that was asked for later is, if it gives another time or value: that time is
// compared with nothing but the one before, as adapters of cloud metrics give times
// some minutes ago, and others the time of the answer. One without a time counts as
// new. After a restart it is not known what the last scale-up was decided on. Then the
// times alone decide, for at most longestDelay.
func (h *History) Fresh(now time.Time, metric int, s Sample) bool {
	if h.sinceUp(now) >= longestDelay {
		return true
	}
	isAsked := !s.Asked.IsZero()
	switch {
	case isAsked && !s.Asked.After(h.LastUp):
		return false
	case s.At.IsZero() && s.Interval.IsZero():
		return true
	case metric >= len(h.LastUpOn):
		return s.At.After(h.LastUp) || s.Interval.After(h.LastUp)
	case isAsked:
		return !s.At.Equal(h.LastUpOn[metric].At) || s.Total != h.LastUpOn[metric].Total
	default:
		last := &h.LastUpOn[metric]
		return s.At.After(last.At) || s.Interval.After(last.At) && s.Interval.After(last.Interval)
	}
}

// sinceUp has no sign: a clock that was set back must not delay scaling up.
func (h *History) sinceUp(now time.Time) time.Duration { return now.Sub(h.LastUp).Abs() }

// doubling is how far an object without behavior may go: to the double, or to
// four replicas.
func doubling(l *Limits, h *History, w Proposed) (rate int32, delayed DoublingDelay) {
	const factor, least = 2, 4
	rate = l.arithmetic().Trunc32(math.Max(factor*float64(w.Current), least))
	fresh := max(w.Current, w.Fresh)
	switch {
	case !l.Divergences.Has(divergence.OneDoubling) || h.LastUp.IsZero():
		return rate, NotDelayed
	case h.sinceUp(w.Now) < DoublingPeriod:
		return w.Current, TooSoon
	case fresh < rate:
		return fresh, NothingNewer
	default:
		return rate, NotDelayed
	}
}
