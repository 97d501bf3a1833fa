package loop

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// TestFloor: the count is raised in the very instant in which the floor rises, never above maxReplicas. When the floor
// has gone, the metrics decide again. There is no stabilization window here: pods that start have no samples, and count
// as used as the target asks for, so that a window would keep the raised count for its length.
func TestFloor(t *testing.T) {
	c := withDivergences(fixture(t, workloadmodel.Constant(100)))
	c.Policy.DownscaleStabilization = 0
	var asked []time.Duration
	c.Floor = func(at time.Duration) int32 {
		asked = append(asked, at)
		switch {
		case at < 2*time.Minute:
			return 0
		case at < 3*time.Minute:
			return 7
		case at < 4*time.Minute:
			return 1000
		}
		return 1
	}
	p := NewPlimsoll(c, DefaultPlimsollTiming())
	for _, step := range []struct {
		until  time.Duration
		wanted int32
	}{
		{2*time.Minute - time.Millisecond, 4},
		{2 * time.Minute, 7},
		{3 * time.Minute, 50},
		{4*time.Minute - time.Millisecond, 50},
		{5*time.Minute - time.Second, 4},
	} {
		play(c.World, p, step.until)
		if got := c.World.Replicas(); got != step.wanted {
			t.Errorf("%v: %d replicas, want %d", step.until, got, step.wanted)
		}
	}
	if len(asked) != 5 || asked[0] != 0 || asked[4] != 4*time.Minute {
		t.Errorf("asked at %v, want each minute once", asked)
	}
}
