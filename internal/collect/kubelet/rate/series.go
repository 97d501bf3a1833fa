package rate

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/points"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// The limits of one history.
const (
	// ShortestGap is what two samples lie apart at least: below it, the moment
	// at which the kernel's counter was read is not known well enough.
	ShortestGap = 100 * time.Millisecond
	// LongestGap is what two samples lie apart at most: beyond it their average
	// says nothing of the present.
	LongestGap = 2 * time.Minute

	shortestGapMillis = int64(ShortestGap / time.Millisecond)
	longestGapMillis  = int64(LongestGap / time.Millisecond)
)

// series is the history of one counter. Time and counter rise.
type series struct {
	newestMillis int64
	cpuNanos     points.History[int64]
}

func (s *series) newestCPU() int64 { return s.cpuNanos.Newest() }

func (s *series) lastGapMillis() int64 { return s.cpuNanos.GapMillis(s.cpuNanos.Len() - 1) }

// start forgets all and starts with one point.
func (s *series) start(atMillis, cpuNanos int64) {
	s.newestMillis = atMillis
	s.cpuNanos.Begin(cpuNanos)
}

// add appends a point that is later than the newest by an allowed gap and not below it.
func (s *series) add(atMillis, cpuNanos, keptMillis int64) {
	s.cpuNanos.Add(millis32(atMillis-s.newestMillis), cpuNanos, keptMillis)
	s.newestMillis = atMillis
}

// window is what an average is over: so long up to an end. 0 is the newest sample.
type window struct{ lengthMillis, endMillis int64 }

// over is the average over a window. One without an end is the longest span of whole intervals that it
// holds, or the last interval if that alone is longer. In one with an end, the counter is taken to have risen evenly
// between two samples. It is false without an interval before the end.
func (s *series) over(w window) (Interval, bool) {
	back := s.newestMillis - w.endMillis
	if w.endMillis > 0 && back >= 0 {
		return s.until(back, w)
	}
	first, span, ok := s.cpuNanos.Window(w.lengthMillis)
	if !ok {
		return Interval{}, false
	}
	return s.interval(first, s.cpuNanos.Len()-1, s.newestMillis, span), true
}

// until is the average over a window that ends so long before the newest sample.
func (s *series) until(back int64, w window) (Interval, bool) {
	if s.cpuNanos.Len() < 2 || back > s.cpuNanos.SpanMillis()-shortestGapMillis {
		return Interval{}, false
	}
	from := min(back+max(w.lengthMillis, shortestGapMillis), s.cpuNanos.SpanMillis())
	return Interval{
		End:       time.UnixMilli(s.newestMillis - back),
		Span:      time.Duration(from-back) * time.Millisecond,
		NanoCores: arithmetic.Saturate.MulDiv(s.counted(back)-s.counted(from), 1000, from-back),
	}, true
}

// counted is the counter at a time before the newest sample.
func (s *series) counted(agoMillis int64) int64 {
	before, after := s.cpuNanos.Around(agoMillis)
	value := s.cpuNanos.Value(before.Index)
	if span := before.AgoMillis - after.AgoMillis; span > 0 {
		value += arithmetic.Saturate.MulDiv(s.cpuNanos.Value(after.Index)-value, before.AgoMillis-agoMillis, span)
	}
	return value
}

// recent fills in the last intervals, the newest first.
func (s *series) recent(into *[RecentIntervals]Interval) int {
	newest := s.cpuNanos.Len() - 1
	intervals, n := averaging.Recent(s.cpuNanos.Len(), func(k int) time.Duration {
		return time.Duration(s.cpuNanos.GapMillis(newest-k)) * time.Millisecond
	})
	end := s.newestMillis
	for k, i := range intervals[:n] {
		span := int64(0)
		for last := i.Last; last < i.First; last++ {
			span += s.cpuNanos.GapMillis(newest - last)
		}
		into[k] = s.interval(newest-i.First, newest-i.Last, end, span)
		end -= span
	}
	return n
}

func (s *series) interval(first, last int, endMillis, spanMillis int64) Interval {
	grown := s.cpuNanos.Value(last) - s.cpuNanos.Value(first)
	return Interval{
		End:       time.UnixMilli(endMillis),
		Span:      time.Duration(spanMillis) * time.Millisecond,
		NanoCores: arithmetic.Saturate.MulDiv(grown, 1000, spanMillis),
	}
}

// millis32 narrows a gap, which is at most LongestGap.
func millis32(gap int64) uint32 {
	if gap < 0 || gap > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(gap)
}
