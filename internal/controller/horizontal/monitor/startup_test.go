package monitor

import (
	"testing"
	"time"
)

// TestScaleUps: pods belong to the last scale-up before they were created that lacks
// some, and no longer than a scale-up can explain them.
func TestScaleUps(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	var r scaleUps
	r = r.add(at(0.5), 2).add(at(3.5), 1)
	for _, c := range []struct {
		reason  string
		created float64
		want    float64 // seconds of the scale-up; 0 for none
	}{
		{"created in the second of the second write", 3, 3.5},
		{"the second lacks none any more, so it is a late one of the first", 4, 0.5},
		{"created before every write", -1, 0},
		{"created long after", 16 * 60, 0},
		{"the last of the first", 4, 0.5},
		{"one more than asked for", 4, 0},
	} {
		rest, got, found := r.take(at(c.created))
		if r = rest; found != (c.want != 0) || found && !got.Equal(at(c.want)) {
			t.Fatalf("%s: %s (%t), want %g s", c.reason, got, found, c.want)
		}
	}
	if r = r.add(at(9), 3).add(at(10), -1); len(r) != 0 {
		t.Errorf("pods are awaited after the count was lowered: %v", r)
	}
	for range 2 * maxScaleUps {
		r = r.add(at(11), 1)
	}
	if len(r) != maxScaleUps {
		t.Errorf("%d scale-ups are remembered, want %d", len(r), maxScaleUps)
	}
}
