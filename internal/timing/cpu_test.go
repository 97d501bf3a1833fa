package timing

import (
	"slices"
	"testing"
	"time"
)

// TestSpend: work costs CPU, waiting does not.
func TestSpend(t *testing.T) {
	if got := CPUOf(func() { <-time.After(50 * time.Millisecond) }); got < 0 || got > 20*time.Millisecond {
		t.Errorf("waiting for 50 ms costs %s", got)
	}
	began := time.Now()
	work := 0
	got := CPUOf(func() {
		for end := threadTime() + 20*time.Millisecond; threadTime() < end; {
			work++
		}
	})
	if took := time.Since(began); got < 20*time.Millisecond || got > took+time.Millisecond {
		t.Errorf("working for 20 ms of CPU, within %s, costs %s", took, got)
	}
}

// BenchmarkSpend is what measuring costs.
func BenchmarkSpend(b *testing.B) {
	for b.Loop() {
		CPUOf(func() {})
	}
}

// Work of microseconds costs microseconds, not a tick of the scheduler now and then.
func TestSpendLittle(t *testing.T) {
	var costs []time.Duration
	for range 201 {
		costs = append(costs, CPUOf(func() {
			for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
				continue
			}
		}))
	}
	slices.Sort(costs)
	if median := costs[len(costs)/2]; median < 10*time.Microsecond || median > 100*time.Microsecond {
		t.Errorf("20 µs of work cost %s", median)
	}
}
