package monitor

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestScaleUps: a pod belongs to the last scale-up before its creation that still waits for pods, up to the longest
// start-up time.
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

// TestStartUp: start-up times are measured on pods that a scale-up has created, by object.
func TestStartUp(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s, key := newPodStartup(), observe.HPA("shop", "web")
	ready := func(created, ready time.Duration) {
		p := &observe.Pod{Created: noon.Add(created).UnixNano()}
		p.ReadyTransition = noon.Add(ready)
		s.Ready(p, []observe.Key{key})
	}
	s.Scaled(key, noon, 1)
	ready(-time.Minute, 5*time.Second)
	if got := s.StartUp(key, noon); got != 0 {
		t.Errorf("a pod that was there before the scale-up counts with %v", got)
	}
	ready(time.Second, 43*time.Second)
	ready(2*time.Second, 5*time.Minute)
	if got := s.StartUp(key, noon); got != 42*time.Second {
		t.Errorf("%v, want the 42 s of the pod that was asked for", got)
	}
	if got := s.StartUp(observe.HPA("shop", "api"), noon); got != 0 {
		t.Errorf("another object has %v", got)
	}
	s.Forget(key)
	if got := s.StartUp(key, noon); got != 0 {
		t.Errorf("%v of an object that is gone", got)
	}
}
