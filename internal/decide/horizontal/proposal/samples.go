package proposal

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/verdict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// Samples appends what the results were computed from, and what the surge window used if it asks. Those of a metric
// that failed are empty: whatever it has next is new.
func Samples(dst []behavior.Sample, results []metric.Result, s *surge.Result) []behavior.Sample {
	for i := range results {
		sample := sampleOf(&results[i])
		if s.Asks() && s.Metric == i && s.At.After(sample.Interval) {
			sample.Interval = s.At
		}
		dst = append(dst, sample)
	}
	return dst
}

// sampleOf is what a result was computed from.
func sampleOf(r *metric.Result) behavior.Sample {
	sample := behavior.Sample{At: r.At, Asked: r.Asked, Total: r.Total}
	if !r.At.IsZero() {
		sample.Interval = r.Confirmed
	}
	return sample
}

// Fresh is the largest replica count proposed by metrics with samples that the last
// scale-up was not decided on. One metric's old samples then limit its own proposal and
// no other's. Where new pods alone have shown the load since, it is no more than that takes. It is the largest int32
// where all metrics have new samples: nothing is limited.
func Fresh(now time.Time, h *behavior.History, results []metric.Result, s *surge.Result) int32 {
	largest, all := int32(0), true
	if s.Asks() {
		if all = h.Fresh(now, s.Metric, behavior.Sample{Interval: s.At}); all {
			largest = s.Replicas
		}
	}
	for i := range results {
		switch m := &results[i]; {
		case m.Failure != nil, m.Pending:
		case h.Fresh(now, i, behavior.Sample{At: m.At, Asked: m.Asked, Total: m.Total}):
			largest = max(largest, m.Replicas)
		case h.Fresh(now, i, sampleOf(m)):
			largest, all = max(largest, min(m.Replicas, m.ConfirmedReplicas)), false
		default:
			all = false
		}
	}
	if all {
		return math.MaxInt32
	}
	return largest
}

// longestLag is how far the times of samples may be behind. A source whose times are
// further behind, or always the same, must not end scaling down for good.
const longestLag = 5 * time.Minute

// Outdated counts the metrics with samples that are no newer than the last scale-up: those
// that it was decided on, or those of another source from before it. They must not
// undo it. A value without a time has the time of its request.
func Outdated(now, lastUp time.Time, results []metric.Result) (n int) {
	if lastUp.IsZero() || now.Sub(lastUp).Abs() >= longestLag {
		return 0
	}
	for i := range results {
		r := &results[i]
		known := r.Oldest
		if known.IsZero() {
			known = r.Asked
		}
		if r.Failure == nil && !r.Pending && !known.IsZero() && !known.After(lastUp) {
			n++
		}
	}
	return n
}

// Lasting is what the metrics ask for without the surge window. Without is the count
// that there would be without it, where it raised the count, and 0 elsewhere.
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

// lastingOf is what a metric of the pods asks for while the surge window has raised the
// count. Where pods are new, the averages of the others begin with their readiness and
// are over some seconds alone, or reach back to before it and count for more than was
// used at any time. And a metric that keeps the count as it is keeps no more than there
// would be, unless what the pods use together takes about as many as there are.
func lastingOf(m *metric.Result, c *metric.Context, without int32) int32 {
	needed := m.Ratio * float64(m.Counts.Counted+m.Counts.Unsampled)
	isKept := m.Verdict == verdict.WithinTolerance || m.Verdict == verdict.DirectionKept
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
