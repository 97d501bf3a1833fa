package schedules

import (
	"testing"
	"time"
)

// TestStepsOfRamp: a ramp has a step for each replica, but at most one in 15 s, or ten if it is short. It is never
// below the straight line, and at most one step above it.
func TestStepsOfRamp(t *testing.T) {
	start := time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		over            time.Duration
		from, to        int32
		steps, replicas int32
	}{
		"each replica":             {15 * time.Minute, 2, 12, 10, 1},
		"a max that is far away":   {15 * time.Minute, 1000, 10, 59, 17},
		"a min that is far away":   {5 * time.Minute, 10, 500, 20, 25},
		"within a minute":          {time.Minute, 0, 100, 10, 10},
		"within three seconds":     {3 * time.Second, 0, 100, 4, 10},
		"the largest, a whole day": {24 * time.Hour, 1_000_000, 1, 5748, 174},
	} {
		r, steps := ramp{start: start, over: c.over, from: c.from, to: c.to}, int32(0)
		for now := start; !now.IsZero(); steps++ {
			bound, next := r.at(now)
			line := float64(c.from) + float64(c.to-c.from)*float64(now.Sub(start))/float64(c.over)
			ahead := float64(bound) - line
			if c.to < c.from {
				ahead = -ahead
			}
			if ahead < 0 || ahead > float64(c.replicas)+1 {
				t.Fatalf("%s: %d after %s, where the line is at %f", name, bound, now.Sub(start), line)
			}
			now = next
		}
		if steps != c.steps {
			t.Errorf("%s: %d steps, want %d", name, steps, c.steps)
		}
	}
}
