package averaging

import "time"

const (
	// RecentIntervals is how many single intervals the surge window uses.
	RecentIntervals = 3
	// Dense is what two values lie apart less than where they come several times a second. An
	// early scrape does not make those dense that come every second: there only one of two
	// distances is as short.
	Dense = 500 * time.Millisecond
	// inner is how long the interval in the middle is made where values are dense. A burst of a
	// second reaches into both others by no more than what such an interval lacks.
	inner = 975 * time.Millisecond
)

// Interval is from one value of a series to another, both counted from the newest, which is 0.
type Interval struct{ First, Last int }

// Recent returns the last intervals between the n values of a series, the newest first, and how many there are. Gap is
// from the value before the k-th newest to that.
//
// Each is between two values in a row. Where values are dense, the one in the middle spans about a second
// and the others stay as short as they are: what is in all three lasts for more than a second then, too,
// and is known after half of the time that three seconds take.
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
