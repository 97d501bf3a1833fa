package averaging

import "time"

const (
	// RecentIntervals is how many single intervals the surge window uses.
	RecentIntervals = 3
	// Dense is the longest time between two values of a series with several values a second. An early scrape does not make
	// a series with one value a second dense: only one of its two gaps is as short.
	Dense = 500 * time.Millisecond
	// inner is the shortest length of the interval in the middle if values are dense. A burst of a second reaches into
	// both other intervals by no more than such an interval lacks of a second.
	inner = 975 * time.Millisecond
)

// Interval is between two values of a series, given by their indices from the newest, which is 0.
type Interval struct{ First, Last int }

// Recent returns the last intervals between the n values of a series, the newest first, and how many there are. gap
// returns the time from the value before the k-th newest to that one.
//
// Each is between two successive values. If values are dense, the one in the middle spans about a second and the others
// stay short: a load that is in all three still lasts for more than a second, and is known after half of the time of
// three one-second intervals.
func Recent(n int, gap func(k int) time.Duration) (intervals [RecentIntervals]Interval, count int) {
	from := 0
	for ; count < len(intervals) && from < n-1; count++ {
		first := from + 1
		if count == 1 {
			first = innerEnd(n, from, gap)
		}
		intervals[count] = Interval{First: first, Last: from}
		from = first
	}
	return intervals, count
}

// innerEnd returns where the interval in the middle begins that ends with a value.
func innerEnd(n, last int, gap func(k int) time.Duration) int {
	span, first := gap(last), last+1
	for span < inner && gap(first-1) < Dense && first < n-1 && gap(first) < Dense {
		span += gap(first)
		first++
	}
	return first
}
