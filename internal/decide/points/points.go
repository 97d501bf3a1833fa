// Package points keeps the last values of one series, for averages over some seconds and for single intervals, in a
// fixed amount of memory. It reads no clock: each value has its distance from the last one.
package points

import "math"

const (
	// Size is the number of values kept: with one a second they span the 15 s of the stable window and some time before.
	Size = 18
	// older is the smallest number of values kept from before fineMillis, as far back as requested.
	older = 2
	// fineMillis is the time for which values are kept as densely as memory permits.
	fineMillis = 15_000
	// recent is the number of newest values that are never removed: the surge window uses their intervals. With four
	// values a second, these intervals are a quarter, a second and another quarter of a second, with one value more if a
	// second takes five.
	recent = 8
)

// History has the last values, the oldest first.
type History[V int64 | float64] struct {
	values [Size]V
	// gapMillis is the distance from the previous value, 0 for the oldest.
	gapMillis [Size]uint32
	// spanMillis is from the oldest value to the newest: all gaps.
	spanMillis uint32
	n          uint32
}

// Begin drops all values and starts with one.
func (h *History[V]) Begin(value V) {
	h.n, h.spanMillis = 1, 0
	h.values[0], h.gapMillis[0] = value, 0
}

// Add appends a value, at some distance from the newest. If the history is full, it removes one: the oldest if the
// others still span keptMillis, otherwise an inner one, so that more frequent values do not make the history shorter.
func (h *History[V]) Add(gapMillis uint32, value V, keptMillis int64) {
	if h.n == Size {
		// Tolerate a sixteenth less: values are never exactly a second apart.
		if left := int64(h.spanMillis - h.gapMillis[1] + gapMillis); left >= keptMillis-keptMillis/16 {
			h.remove(0)
		} else {
			h.remove(h.toThin(gapMillis))
		}
	}
	h.values[h.n], h.gapMillis[h.n] = value, gapMillis
	h.n++
	h.spanMillis += gapMillis
}

// remove removes a value other than the newest; the gap after it grows by the gap before it.
func (h *History[V]) remove(i uint32) {
	merged := h.gapMillis[i] + h.gapMillis[i+1]
	copy(h.values[i:], h.values[i+1:h.n])
	copy(h.gapMillis[i:], h.gapMillis[i+1:h.n])
	h.n--
	h.gapMillis[i] = merged
	h.spanMillis -= h.gapMillis[0]
	h.gapMillis[0] = 0
}

// toThin returns the index of the inner value to remove for one that comes after a gap: among those from before
// fineMillis if there are more than enough, otherwise among all but the most recent.
func (h *History[V]) toThin(gapMillis uint32) uint32 {
	old, ago := h.n, int64(gapMillis)
	for old > 0 && ago <= fineMillis {
		old--
		ago += int64(h.gapMillis[old])
	}
	inner := h.n - recent + 1
	if old > older {
		inner = min(inner, old)
	}
	return h.densest(inner)
}

// densest returns the index of the inner value before end whose removal leaves the smallest gap.
func (h *History[V]) densest(end uint32) uint32 {
	best, smallest := uint32(1), uint32(math.MaxUint32)
	for i := uint32(1); i < end; i++ {
		if gap := h.gapMillis[i] + h.gapMillis[i+1]; gap < smallest {
			best, smallest = i, gap
		}
	}
	return best
}

// Len returns how many values there are.
func (h *History[V]) Len() int { return int(h.n) }

// Value returns the one of that index, from the oldest.
func (h *History[V]) Value(i int) V { return h.values[i] }

// GapMillis returns the distance of the value of that index from the one before.
func (h *History[V]) GapMillis(i int) int64 { return int64(h.gapMillis[i]) }

// Newest returns the newest value. There must be one.
func (h *History[V]) Newest() V { return h.values[h.n-1] }

// SpanMillis is from the oldest value to the newest.
func (h *History[V]) SpanMillis() int64 { return int64(h.spanMillis) }

// Place is the position of a value: its index, and its age relative to the newest.
type Place struct {
	Index     int
	AgoMillis int64
}

// Around returns the values before and after a moment, given by its distance from the newest value; it must not be
// before the oldest. At the moment of a value both are that value.
func (h *History[V]) Around(agoMillis int64) (before, after Place) {
	before = Place{Index: int(h.n) - 1}
	for before.Index > 0 && before.AgoMillis < agoMillis {
		after = before
		before.AgoMillis += int64(h.gapMillis[before.Index])
		before.Index--
	}
	if before.AgoMillis == agoMillis {
		after = before
	}
	return before, after
}

// Window returns the start of the longest span within the window that ends with the newest value, or of the last
// interval if that alone is longer; false without an interval.
func (h *History[V]) Window(windowMillis int64) (first int, spanMillis int64, ok bool) {
	if h.n < 2 {
		return 0, 0, false
	}
	if span := int64(h.spanMillis); span <= windowMillis {
		return 0, span, true
	}
	first = int(h.n) - 2
	spanMillis = int64(h.gapMillis[h.n-1])
	for first > 0 && spanMillis+int64(h.gapMillis[first]) <= windowMillis {
		spanMillis += int64(h.gapMillis[first])
		first--
	}
	return first, spanMillis, true
}
