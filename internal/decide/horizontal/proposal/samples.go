package proposal

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

const (
	// longestLag is the largest accepted age of samples' times. A source whose times are older, or constant, must not
	// prevent scaling down for good.
	longestLag = 5 * time.Minute
	// collectionDelay is the assumed age of a value without a time when it is requested: that of metrics-server's values
	// at its default resolution (--metric-resolution).
	collectionDelay = 15 * time.Second
)

// Outdated counts the metrics whose values are from before the present replica count took effect. They must not lower
// it further: a ratio that was measured with another count and multiplies this one proposes too few; and a value from
// before the count was raised must not undo that.
func Outdated(now time.Time, c *history.Count, results []metric.Result) (n int) {
	if c.EffectiveAt.IsZero() || now.Sub(c.ChangedAt).Abs() >= longestLag {
		return 0
	}
	for i := range results {
		r := &results[i]
		if r.Failure == nil && !r.Pending && isOutdated(c, r) {
			n++
		}
	}
	return n
}

// isOutdated reports whether a metric has a value from before the change. If pods were removed, the others used less in
// the part of the window before that: the value counts once its whole window is after the change, and at once if the
// proposal does not depend on the count. Added pods have no sample before they are ready, so that the others' use is
// the whole load until then: a value counts once it was measured after the change.
func isOutdated(c *history.Count, r *metric.Result) bool {
	measured := r.Oldest
	switch {
	case c.IsLowered && r.Base == 0:
		return false
	case c.IsLowered && !measured.IsZero():
		measured = r.Began
	case measured.IsZero() && r.Asked.IsZero():
		return false
	case measured.IsZero() && c.IsLowered:
		measured = r.Asked.Add(-collectionDelay)
	case measured.IsZero():
		measured = r.Asked
	}
	return !measured.After(c.EffectiveAt)
}

// Fresh returns the largest replica count proposed by metrics whose values were requested after Plimsoll raised the
// count; scraped values are new in each decision that they trigger. One metric's old value then limits only its own
// proposal. Without an old value there is no limit: earlier recommendations may lead farther.
func Fresh(c *history.Count, results []metric.Result, s *surge.Result) (largest int32) {
	hasOld := false
	if s.Proposes() {
		largest = s.Replicas
	}
	for i := range results {
		m := &results[i]
		if m.Failure != nil || m.Pending {
			continue
		}
		if !m.Asked.IsZero() && !m.Asked.After(c.ChangedAt) && !c.IsLowered && !c.IsForeign {
			hasOld = true
			continue
		}
		largest = max(largest, m.Replicas)
	}
	if !hasOld {
		return math.MaxInt32
	}
	return largest
}

// Lasting returns the proposal of the metrics without the surge window. without is the count that there would be
// without the surge window, if it raised the count, and 0 otherwise.
func Lasting(results []metric.Result, c *metric.Context, without int32) int32 {
	lasting := int32(0)
	for i := range results {
		m := &results[i]
		replicas := m.Replicas
		if without > 0 && m.Failure == nil && m.Groups != nil {
			replicas = lastingOf(m, c, without)
		}
		lasting = max(lasting, replicas)
	}
	return lasting
}

// lastingOf returns the proposal of a metric of the pods after the surge window has raised the count. With new pods,
// the averages of the others start at their readiness and span only some seconds, or reach back to before it and exceed
// the use at any time. A metric that keeps the count keeps no more than there would be without the surge window, unless
// the total use of the pods needs about as many as there are.
func lastingOf(m *metric.Result, c *metric.Context, without int32) int32 {
	needed := m.Ratio * float64(m.Counts.Counted+m.Counts.Unsampled)
	isKept := m.Verdict == metric.WithinTolerance || m.Verdict == metric.DirectionKept
	switch {
	case m.Newest > 0:
		return min(m.Replicas, without)
	case !isKept || needed >= (1-c.Tolerance.Down)*float64(c.SpecReplicas):
		return m.Replicas
	case needed > (1+c.Tolerance.Up)*float64(without):
		return min(c.SpecReplicas, arithmetic.Saturate.Ceil32(needed))
	default:
		return without
	}
}
