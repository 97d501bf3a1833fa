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
	// longestLag is how far the times of samples may be behind. A source whose times are further behind, or always the
	// same, must not end scaling down for good.
	longestLag = 5 * time.Minute
	// collectionDelay is how old a value without a time may be when it is asked for: as old as the answers of
	// metrics-server at its default resolution (--metric-resolution).
	collectionDelay = 15 * time.Second
)

// Outdated counts the metrics that say nothing of the present replica count, because they were measured before it took
// effect. They must not lower it further. A ratio that was measured with another count and is multiplied by this one
// asks for too few; and what was measured before the count was raised must not undo that.
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

// isOutdated reports whether a metric has a value from before the change. Where pods were removed, the others used less
// in the part of a window that lies before that: the value counts once all of its window lies behind the change, and at
// once where the count plays no part in what is asked for. Pods that are added have no sample before they are ready, so
// that what the others use then is the load: a value counts once it was measured after the change.
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

// Fresh returns the largest replica count proposed by metrics whose answers were not asked for before Plimsoll raised
// the count; what is scraped without asking is new in each decision that it leads to. One metric's old answer then
// limits its own proposal and no other's. Without an old answer there is no limit: what was recommended before may lead
// farther.
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

// Lasting returns what the metrics ask for without the surge window. Without is the count that there would be without
// it, where it raised the count, and 0 elsewhere.
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

// lastingOf returns what a metric of the pods asks for while the surge window has raised the count. Where pods are new,
// the averages of the others begin with their readiness and are over some seconds alone, or reach back to before it and
// count for more than was used at any time. And a metric that keeps the count as it is keeps no more than there would
// be, unless what the pods use together takes about as many as there are.
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
