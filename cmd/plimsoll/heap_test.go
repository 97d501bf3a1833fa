package main

import (
	"runtime/debug"
	"testing"
)

func TestHoldHeap(t *testing.T) {
	const before = 77
	for why, c := range map[string]struct {
		environment string
		want        int
	}{
		"nobody says anything":     {"", heapGrowth},
		"the environment decides":  {"250", before},
		"the environment has none": {"off", before},
	} {
		t.Setenv("GOGC", c.environment)
		original := debug.SetGCPercent(before)
		holdHeap()
		if got := debug.SetGCPercent(original); got != c.want {
			t.Errorf("%s: the heap grows by %d %%, want %d %%", why, got, c.want)
		}
	}
}
