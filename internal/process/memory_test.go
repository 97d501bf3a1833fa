package process

import (
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestSetGCPercent(t *testing.T) {
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
		setGCPercent()
		if got := debug.SetGCPercent(original); got != c.want {
			t.Errorf("%s: the heap grows by %d %%, want %d %%", why, got, c.want)
		}
	}
}

func TestLimitHeap(t *testing.T) {
	const before = 1 << 40
	for why, c := range map[string]struct {
		limit uint64
		err   error
		want  int64
	}{
		"nine tenths of the limit": {1000 << 20, nil, 900 << 20},
		"no limit":                 {0, memlimit.ErrNoLimit, before},
		"no control group":         {0, memlimit.ErrNoCgroup, before},
	} {
		original := debug.SetMemoryLimit(before)
		limitHeap(func() (uint64, error) { return c.limit, c.err })
		if got := debug.SetMemoryLimit(original); got != c.want {
			t.Errorf("%s: a limit of %d bytes, want %d", why, got, c.want)
		}
	}
}
