package points_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/points"
)

// all returns the values of a history and when they were added, in milliseconds before the newest.
func all(h *points.History[int64]) (values, ago []int64) {
	sum := int64(0)
	for i := h.Len() - 1; i >= 0; i-- {
		values, ago = append(values, h.Value(i)), append(ago, sum)
		sum += h.GapMillis(i)
	}
	slices.Reverse(values)
	slices.Reverse(ago)
	return values, ago
}

// TestWindow: an average covers the longest span within the window, or the last interval.
func TestWindow(t *testing.T) {
	var h points.History[int64]
	if _, _, ok := h.Window(15_000); ok || h.Len() != 0 {
		t.Error("an empty history has a window")
	}
	h.Begin(7)
	if _, _, ok := h.Window(15_000); ok || h.Newest() != 7 {
		t.Errorf("one value has a window, or is %d", h.Newest())
	}
	for _, gap := range []uint32{4000, 1000, 1000, 2000} {
		h.Add(gap, int64(gap), 15_000)
	}
	for window, want := range map[int64]struct {
		first int
		span  int64
	}{
		15_000: {0, 8000}, 8000: {0, 8000}, 7999: {1, 4000}, 4000: {1, 4000}, 3999: {2, 3000}, 2000: {3, 2000}, 1: {3, 2000},
	} {
		first, span, ok := h.Window(window)
		if !ok || first != want.first || span != want.span {
			t.Errorf("within %d ms: from %d over %d ms, want %+v", window, first, span, want)
		}
	}
	h.Begin(9)
	if values, _ := all(&h); !slices.Equal(values, []int64{9}) || h.GapMillis(0) != 0 {
		t.Errorf("begun anew: %v", values)
	}
}

// TestThinned: values a second apart cover the stable window; more frequent ones cover it too, and all of the newest
// are kept.
func TestThinned(t *testing.T) {
	const kept = 15_000
	for _, gap := range []uint32{1000, 990, 500, 200, 100} {
		var h points.History[int64]
		h.Begin(0)
		for i := range int64(1000) {
			h.Add(gap, i+1, kept)
		}
		values, ago := all(&h)
		if span := ago[0]; h.Len() != points.Size || span < kept-kept/points.Size {
			t.Errorf("every %d ms: %d values over %d ms", gap, h.Len(), span)
		}
		if last := values[len(values)-8:]; !slices.Equal(last, []int64{993, 994, 995, 996, 997, 998, 999, 1000}) {
			t.Errorf("every %d ms: the last are %v", gap, last)
		}
	}
}

// TestLikeAll: the kept values are a part of the added ones, with the newest and at the same distances.
func TestLikeAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h points.History[int64]
		h.Begin(0)
		now, added := int64(0), map[int64]int64{0: 0}
		for i := range rapid.Int64Range(0, 60).Draw(t, "values") {
			gap := rapid.OneOf(rapid.Uint32Range(0, 120_000), rapid.Uint32Range(900, 1100)).Draw(t, "gap")
			now += int64(gap)
			h.Add(gap, i+1, rapid.Int64Range(0, 60_000).Draw(t, "kept"))
			added[i+1] = now
		}
		values, ago := all(&h)
		if h.Len() > points.Size || h.Newest() != int64(len(added)-1) || h.GapMillis(0) != 0 {
			t.Fatalf("%d values up to %d", h.Len(), h.Newest())
		}
		for i, v := range values {
			if added[v] != now-ago[i] || i > 0 && v <= values[i-1] {
				t.Fatalf("value %d is from %d, kept as from %d: %v", v, added[v], now-ago[i], values)
			}
		}
		checkWindow(t, &h, ago)
	})
}

func checkWindow(t *rapid.T, h *points.History[int64], ago []int64) {
	window := rapid.Int64Range(0, 60_000).Draw(t, "window")
	first, span, ok := h.Window(window)
	if ok != (h.Len() > 1) {
		t.Fatalf("%d values, within %d ms: %v", h.Len(), window, ok)
	}
	if !ok {
		return
	}
	isLongest := span <= window && (first == 0 || span+h.GapMillis(first) > window)
	if span != ago[first] || !isLongest && first != h.Len()-2 {
		t.Fatalf("within %d ms: from %d over %d ms of %v", window, first, span, ago)
	}
}

// TestAround: the values before and after a moment are found, or the value at it.
func TestAround(t *testing.T) {
	var h points.History[int64]
	h.Begin(1)
	for _, gap := range []uint32{4000, 1000, 2000} {
		h.Add(gap, int64(gap), 60_000)
	}
	for ago, want := range map[int64][4]int64{
		0: {3, 3, 0, 0}, 1: {2, 3, 2000, 0}, 2000: {2, 2, 2000, 2000}, 2500: {1, 2, 3000, 2000}, 3000: {1, 1, 3000, 3000},
		6999: {0, 1, 7000, 3000}, 7000: {0, 0, 7000, 7000},
	} {
		before, after := h.Around(ago)
		if got := [4]int64{int64(before.Index), int64(after.Index), before.AgoMillis, after.AgoMillis}; got != want {
			t.Errorf("%d ms ago: %v, want %v", ago, got, want)
		}
	}
}

// TestReachesBack: a history with a longer reach keeps the values of the last 15 s at the same distances, and some of
// the time before.
func TestReachesBack(t *testing.T) {
	for _, gap := range []uint32{1000, 250} {
		var h points.History[int64]
		h.Begin(0)
		for i := range int64(1000) {
			h.Add(gap, i+1, 40_000)
			if i < 400 {
				continue
			}
			_, ago := all(&h)
			if ago[0] < 37_500 {
				t.Fatalf("every %d ms: they reach back %d ms", gap, ago[0])
			}
			if _, span, _ := h.Window(15_000); span < 12_500 || gap == 1000 && span < 15_000 {
				t.Fatalf("every %d ms: a window of 15 s holds %d ms", gap, span)
			}
		}
	}
}
