package cpucontention

import (
	"math"
	"testing"
)

// TestFactor: the demand is at most twice the usage; a value that is no number has no effect.
func TestFactor(t *testing.T) {
	for _, c := range []struct {
		shares Shares
		want   float64
	}{
		{Shares{}, 1}, {Shares{Throttled: 0.5}, 1.5}, {Shares{Throttled: 0.25, Pressure: 0.75}, 1.75},
		{Shares{Throttled: 7}, 2},
		{Shares{Throttled: math.NaN(), Pressure: 0.5}, 1.5}, {Shares{Pressure: -1}, 1},
	} {
		if got := c.shares.Factor(); got != c.want {
			t.Errorf("%+v: %g, want %g", c.shares, got, c.want)
		}
	}
}

// TestContended: a container stays contended until its share is low; without samples or data its state does not change.
func TestContended(t *testing.T) {
	const limit, pressure = "container app wants more CPU than it gets: its limit stops it in many of its CFS periods",
		"container app wants more CPU than it gets: its tasks wait for a CPU for much of the time"
	var c Contended
	for _, step := range []struct {
		shares Shares
		want   string
	}{
		{Shares{Throttled: 0.2}, ""},
		{Shares{Throttled: 0.25}, limit},
		{Shares{Throttled: 0.1, Pressure: 0.3}, limit + "; " + pressure},
		{Shares{Throttled: 0.09, Pressure: 0.2}, pressure},
		{Shares{}, ""},
	} {
		step.shares.IsKnown = true
		c.Update(map[string]Shares{"app": step.shares})
		c.Update(nil)
		c.Update(map[string]Shares{"app": {Throttled: 1 - step.shares.Throttled}})
		if got := c.Message(); got != step.want {
			t.Errorf("%+v: %q, want %q", step.shares, got, step.want)
		}
	}
	if high := (Shares{Throttled: 0.5}).Max(Shares{Throttled: math.NaN(), Pressure: 0.1, IsKnown: true}); high != (Shares{
		Throttled: 0.5, Pressure: 0.1, IsKnown: true,
	}) {
		t.Errorf("%+v", high)
	}
}
