package podload

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/points"
)

// The limits of one history.
const (
	// ShortestGap is the shortest time between two samples: below it, the time at which the kernel's counter was read is
	// too imprecise.
	ShortestGap = 100 * time.Millisecond
	// LongestGap is the longest time between two samples: beyond it their average does not describe the present.
	LongestGap = 2 * time.Minute

	shortestGapMillis = int64(ShortestGap / time.Millisecond)
)

// Series is the history of a container's CPU counter. Time and counter increase.
type Series struct {
	newestMillis int64
	cpuNanos     points.History[int64]
}

// NewestNanos returns the newest value.
func (s *Series) NewestNanos() int64 { return s.cpuNanos.Newest() }

// LastGapMillis is from the newest but one to the newest.
func (s *Series) LastGapMillis() int64 { return s.cpuNanos.GapMillis(s.cpuNanos.Len() - 1) }

// Begin drops all points and starts with one.
func (s *Series) Begin(atMillis, cpuNanos int64) {
	s.newestMillis = atMillis
	s.cpuNanos.Begin(cpuNanos)
}

// Add appends a point that is later than the newest by an allowed gap and not below it.
func (s *Series) Add(atMillis, cpuNanos, keptMillis int64) {
	s.cpuNanos.Add(millis32(atMillis-s.newestMillis), cpuNanos, keptMillis)
	s.newestMillis = atMillis
}

// Len returns how many samples there are.
func (s *Series) Len() int { return s.cpuNanos.Len() }

// NewestMillis returns when the newest was taken, in milliseconds since 1970.
func (s *Series) NewestMillis() int64 { return s.newestMillis }

// Window is the time over which to average: its length and its end. An end of 0 means the newest sample.
type Window struct{ LengthMillis, EndMillis int64 }

// Over returns the average over a window. Without an end it is over the longest span of whole intervals within the
// window, or over the last interval if that alone is longer. With an end, the counter is assumed to have risen evenly
// between two samples. It returns false without an interval before the end.
func (s *Series) Over(w Window) (Interval, bool) {
	back := s.newestMillis - w.EndMillis
	if w.EndMillis > 0 && back >= 0 {
		return s.until(back, w)
	}
	first, span, ok := s.cpuNanos.Window(w.LengthMillis)
	if !ok {
		return Interval{}, false
	}
	return s.interval(first, s.cpuNanos.Len()-1, s.newestMillis, span), true
}

// until returns the average over a window that ends so long before the newest sample.
func (s *Series) until(back int64, w Window) (Interval, bool) {
	if s.cpuNanos.Len() < 2 || back > s.cpuNanos.SpanMillis()-shortestGapMillis {
		return Interval{}, false
	}
	from := min(back+max(w.LengthMillis, shortestGapMillis), s.cpuNanos.SpanMillis())
	return Interval{
		End:       time.UnixMilli(s.newestMillis - back),
		Span:      time.Duration(from-back) * time.Millisecond,
		NanoCores: arithmetic.Saturate.MulDiv(s.counted(back)-s.counted(from), 1000, from-back),
	}, true
}

// counted returns the counter at a time before the newest sample.
func (s *Series) counted(agoMillis int64) int64 {
	before, after := s.cpuNanos.Around(agoMillis)
	value := s.cpuNanos.Value(before.Index)
	if span := before.AgoMillis - after.AgoMillis; span > 0 {
		value += arithmetic.Saturate.MulDiv(s.cpuNanos.Value(after.Index)-value, before.AgoMillis-agoMillis, span)
	}
	return value
}

// Recent fills in the last intervals, the newest first.
func (s *Series) Recent(into *[averaging.RecentIntervals]Interval) int {
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

// Newest returns the average of the last interval; false if there is none.
func (s *Series) Newest() (Interval, bool) {
	newest := s.cpuNanos.Len() - 1
	if newest < 1 {
		return Interval{}, false
	}
	return s.interval(newest-1, newest, s.newestMillis, s.LastGapMillis()), true
}

func (s *Series) interval(first, last int, endMillis, spanMillis int64) Interval {
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
