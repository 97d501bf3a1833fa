package rate

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
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

const (
	// points at one second each span the 15 s of the stable window.
	points = 16
	// recentPoints are never thinned out: the surge window looks at each of their
	// intervals.
	recentPoints = 4
)

// series is the history of one counter, oldest first. Time and counter rise.
type series struct {
	newestMillis int64
	cpuNanos     [points]int64
	// gapMillis is the distance from the point before, 0 for the oldest.
	gapMillis [points]uint32
	// spanMillis is from the oldest point to the newest: all gaps.
	spanMillis uint32
	n          uint32
}

func (s *series) newestCPU() int64 { return s.cpuNanos[s.n-1] }

func (s *series) lastGapMillis() int64 { return int64(s.gapMillis[s.n-1]) }

// begin forgets all and starts with one point.
func (s *series) begin(atMillis, cpuNanos int64) {
	s.n, s.newestMillis, s.spanMillis = 1, atMillis, 0
	s.cpuNanos[0], s.gapMillis[0] = cpuNanos, 0
}

// add appends a point that is later than the newest by an allowed gap and not
// below it. Where there is no room, one goes: the oldest if the others still span
// what is kept, otherwise an inner one, so that scraping more often does not make
// the memory shorter.
func (s *series) add(atMillis, cpuNanos, keptMillis int64) {
	gap := millis32(atMillis - s.newestMillis)
	if s.n == points {
		// A sixteenth less will do: samples a second apart are never exactly that.
		if left := int64(s.spanMillis - s.gapMillis[1] + gap); left >= keptMillis-keptMillis/points {
			s.remove(0)
		} else {
			s.remove(s.densest())
		}
	}
	s.cpuNanos[s.n], s.gapMillis[s.n] = cpuNanos, gap
	s.n++
	s.newestMillis = atMillis
	s.spanMillis += gap
}

// remove takes out a point that is not the newest; the gap before it becomes part
// of the one behind it.
func (s *series) remove(i uint32) {
	merged := s.gapMillis[i] + s.gapMillis[i+1]
	copy(s.cpuNanos[i:], s.cpuNanos[i+1:s.n])
	copy(s.gapMillis[i:], s.gapMillis[i+1:s.n])
	s.n--
	s.gapMillis[i] = merged
	s.spanMillis -= s.gapMillis[0]
	s.gapMillis[0] = 0
}

// densest is the inner point whose removal leaves the smallest gap. With the one
// to come, the newest recentPoints stay.
func (s *series) densest() uint32 {
	best, smallest := uint32(1), uint32(math.MaxUint32)
	for i := uint32(1); i <= s.n-recentPoints; i++ {
		if gap := s.gapMillis[i] + s.gapMillis[i+1]; gap < smallest {
			best, smallest = i, gap
		}
	}
	return best
}

// window is the average over the longest span that the window holds, or over the
// last interval if that alone is longer; false without an interval.
func (s *series) window(windowMillis int64) (Interval, bool) {
	if s.n < 2 {
		return Interval{}, false
	}
	if span := int64(s.spanMillis); span <= windowMillis {
		return s.interval(0, s.n-1, s.newestMillis, span), true
	}
	first := s.n - 2
	span := s.lastGapMillis()
	for first > 0 && span+int64(s.gapMillis[first]) <= windowMillis {
		span += int64(s.gapMillis[first])
		first--
	}
	return s.interval(first, s.n-1, s.newestMillis, span), true
}

// recent fills in the last intervals, the newest first.
func (s *series) recent(into *[RecentIntervals]Interval) int {
	end := s.newestMillis
	k := 0
	for n := s.n; n > 1 && k < len(into); n-- {
		gap := int64(s.gapMillis[n-1])
		into[k] = s.interval(n-2, n-1, end, gap)
		end -= gap
		k++
	}
	return k
}

func (s *series) interval(first, last uint32, endMillis, spanMillis int64) Interval {
	return Interval{
		End:       time.UnixMilli(endMillis),
		Span:      time.Duration(spanMillis) * time.Millisecond,
		NanoCores: arithmetic.Saturate.MulDiv(s.cpuNanos[last]-s.cpuNanos[first], 1000, spanMillis),
	}
}

// millis32 narrows a gap, which is at most LongestGap.
func millis32(gap int64) uint32 {
	if gap < 0 || gap > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(gap)
}
