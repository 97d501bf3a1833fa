package horizontal

import (
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// PodEndpoint reads metric i, of type PodEndpoint, from the samples of the pods' own endpoints.
func (a *Answers) PodEndpoint(i int, usage PodUsage) metric.Reading {
	if usage.IsEmpty() {
		return metric.Reading{Empty: true}
	}
	spec, s, b := &a.policy.Metrics[i], a.samples(i), &a.buffers[i]
	b.recent = slices.Grow(b.recent[:0], len(a.pods))[:len(a.pods)]
	for n := range a.pods {
		s.reading.Samples[n], b.recent[n] = usage.Sample(n, spec, a.mode), usage.Recent(n, spec, a.mode)
	}
	s.reading.Recent = b.recent
	return s.reading
}

// Server reads metric i, of type Prometheus, ExternalScaler or Scaler, from its server's answer, or one of pods that
// are not the target's from what they have in total.
func (a *Answers) Server(i int, answer *sources.Answer) metric.Reading {
	r := metric.Reading{
		Pending: answer.IsPending, At: answer.At, Asked: answer.Asked, TargetMilli: answer.TargetMilli,
		Activity: answer.Activity, IsLeast: answer.IsLeast, Incomplete: answer.Incomplete,
	}
	switch {
	case r.Pending:
		return r
	case answer.Err != nil:
		r.Error = answer.Err.Error()
		return r
	case len(answer.Series) == 0:
		r.Empty = true
		return r
	}
	b := &a.buffers[i]
	b.series = b.series[:0]
	for _, value := range answer.Series {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return metric.Reading{Error: "a value is not a finite number", Asked: answer.Asked, Activity: answer.Activity}
		}
		b.series = append(b.series, milliOf(value))
	}
	r.Series = b.series
	return r
}

// milliOf returns the number in thousandths, rounded. One above zero stays above zero: it may be all that keeps a
// target from scaling to zero.
func milliOf(value float64) int64 {
	milli := math.Round(value * 1000)
	switch {
	case milli >= math.MaxInt64:
		return math.MaxInt64
	case milli <= math.MinInt64:
		return math.MinInt64
	case milli == 0 && value > 0:
		return 1
	}
	return int64(milli)
}
