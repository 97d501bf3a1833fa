package loop

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// TestAgents: where agents of nodes read four times a second, samples are at most so old when a decision is made that
// follows them, also if kubelets have none, and a surge is answered within a second.
func TestAgents(t *testing.T) {
	const rises, interval = 2 * time.Minute, 250 * time.Millisecond
	for seed := range uint64(10) {
		c := fixture(t, steps(t, 100, 400, rises))
		c.Seed = seed
		var first, oldest time.Duration
		c.OnDecision = func(o *horizontal.Observation, d *horizontal.Decision) {
			now := c.World.Now()
			if first == 0 && d.Rescale {
				first = now - rises
			}
			for i := range o.Readings[0].Samples {
				if s := &o.Readings[0].Samples[i]; s.Present && now > time.Second {
					oldest = max(oldest, c.World.Time(now).Sub(s.At))
				}
			}
		}
		timing := DefaultPlimsollTiming()
		timing.Agents = interval
		play(c.World, NewPlimsoll(withDivergences(c), timing), 4*time.Minute)
		if got := c.World.Replicas(); got < 15 || got > 20 {
			t.Errorf("seed %d: %d replicas where 16 are right", seed, got)
		}
		if first <= 0 || first > 1500*time.Millisecond {
			t.Errorf("seed %d: the first answer comes after %v", seed, first)
		}
		// A sample is as old as the interval at most when it is asked for, and is used until the next one is.
		if oldest < interval/2 || oldest > 2*interval {
			t.Errorf("seed %d: samples of up to %v", seed, oldest)
		}
	}
}
