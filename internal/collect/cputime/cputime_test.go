package cputime

import (
	"testing"
	"time"
)

// TestSpend: work costs CPU, waiting does not.
func TestSpend(t *testing.T) {
	if got := Spend(func() { <-time.After(50 * time.Millisecond) }); got < 0 || got > 20*time.Millisecond {
		t.Errorf("waiting for 50 ms costs %s", got)
	}
	began := time.Now()
	work := 0
	got := Spend(func() {
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
		Spend(func() {})
	}
}
