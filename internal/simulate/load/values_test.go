package load

import (
	"math"
	"testing"
	"time"
)

// TestFromValues: what is not known is not zero. The value before goes on there, and it is reported as missing.
func TestFromValues(t *testing.T) {
	unknown, start := math.NaN(), time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	l, err := FromValues("web", start, time.Minute, []float64{unknown, 5, 7, unknown, unknown, 0, 2, unknown})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Start.Equal(start.Add(time.Minute)) || l.Length != 6*time.Minute || l.Peak != 7 || l.Missing() != 2*time.Minute {
		t.Errorf("from %v for %v with a peak of %v, of which %v are missing", l.Start, l.Length, l.Peak, l.Missing())
	}
	for minute, want := range []struct {
		rate      float64
		isMissing bool
	}{{5, false}, {7, false}, {7, true}, {7, true}, {0, false}, {2, false}} {
		at := time.Duration(minute)*time.Minute + 30*time.Second
		if l.Rate(at) != want.rate || l.IsMissing(at) != want.isMissing {
			t.Errorf("minute %d: %v, missing %v; want %+v", minute, l.Rate(at), l.IsMissing(at), want)
		}
	}
	part, err := l.FromTime(start.Add(5 * time.Minute))
	if err != nil || part.Rate(0) != 0 || part.PeakWithin(part.Length) != 2 {
		t.Errorf("the end of it: %+v, %v", part, err)
	}
	for name, values := range map[string][]float64{
		"none": nil, "never known": {unknown, unknown}, "negative": {1, -1}, "without bounds": {1, math.Inf(1)},
	} {
		if _, err := FromValues("web", start, time.Minute, values); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := FromValues("web", start, 0, []float64{1}); err == nil {
		t.Error("a step of 0 is taken")
	}
}
