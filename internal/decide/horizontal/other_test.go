package horizontal_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// jobs returns a policy that wants a replica for each job.
func jobs(b *behavior.Behavior) *horizontal.Policy {
	return &horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 100, Behavior: b, Divergences: divergence.Default,
		WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{},
		Metrics: []source.Spec{{
			Type: source.External, Name: "jobs", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
}

// observed returns an observation of a target with so many replicas, and of the waiting jobs.
func observed(replicas int32, waiting int64) *horizontal.Observation {
	return &horizontal.Observation{
		Target:   horizontal.Target{SpecReplicas: replicas, StatusReplicas: replicas},
		Readings: []metric.Reading{{Series: []int64{waiting * 1000}}},
	}
}

// A controller that begins to act never scales further, up or down, than one with the same policy that acted all along.
func TestTakesOverWhereTheOtherStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := jobs(&behavior.Behavior{
			Up: behavior.Rules{Stabilization: time.Duration(rapid.IntRange(0, 60).Draw(t, "up window")) * time.Second,
				Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: rapid.Int32Range(1, 5).Draw(t, "up"),
					Period: time.Duration(rapid.IntRange(10, 120).Draw(t, "up period")) * time.Second}}},
			Down: behavior.Rules{Stabilization: time.Duration(rapid.IntRange(0, 120).Draw(t, "down window")) * time.Second,
				Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: rapid.Int32Range(1, 5).Draw(t, "down"),
					Period: time.Duration(rapid.IntRange(10, 120).Draw(t, "down period")) * time.Second}}},
		})
		waits := *p
		count := rapid.Int32Range(1, 20).Draw(t, "count")
		last := count
		var one, other horizontal.State
		takeover := rapid.IntRange(1, 40).Draw(t, "takeover")
		for step := range takeover + 20 {
			now, waiting := at(5*step), rapid.Int64Range(1, 30).Draw(t, "jobs")
			o := observed(count, waiting)
			var d, e horizontal.Decision
			d, one = horizontal.Decide(now, p, one, o)
			if step < takeover {
				o.Refusal = horizontal.Refusal{Reason: "Other", Message: "another one acts"}
			}
			other = horizontal.CountOther(&waits, other, horizontal.OtherChange{At: at(5 * (step - 1)), From: last, To: count})
			e, other = horizontal.Decide(now, &waits, other, o)
			if step >= takeover && (e.Desired < min(d.Desired, count) || e.Desired > max(d.Desired, count)) {
				t.Fatalf("at %d s of %d: the one that took over wants %d, the other %d", 5*step, count, e.Desired, d.Desired)
			}
			last = count
			count = d.Desired
			one = horizontal.Settle(one, horizontal.Outcome{At: now})
			other.Pending = nil
		}
	})
}

// The count that another autoscaler has raised stays for a whole window, and a decrease by it counts in the period of
// the rate policy.
func TestCountOther(t *testing.T) {
	p := jobs(&behavior.Behavior{
		Up: behavior.Rules{Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 3, Period: time.Minute}}},
		Down: behavior.Rules{Stabilization: 100 * time.Second,
			Policies: []behavior.RatePolicy{{Type: behavior.RatePercent, Value: 100, Period: 15 * time.Second}}},
	})
	var s horizontal.State
	decide := func(second int, replicas int32, waiting int64) int32 {
		t.Helper()
		var d horizontal.Decision
		d, s = horizontal.Decide(at(second), p, s, observed(replicas, waiting))
		s.Pending = nil
		return d.Desired
	}
	decide(0, 2, 2)
	s = horizontal.CountOther(p, s, horizontal.OtherChange{At: at(200), From: 2, To: 5})
	if got := decide(210, 5, 20); got != 5 {
		t.Errorf("%d: three pods in a minute are all", got)
	}
	s = horizontal.State{}
	decide(0, 2, 2)
	s = horizontal.CountOther(p, s, horizontal.OtherChange{At: at(200), From: 2, To: 5})
	if got := decide(290, 5, 2); got != 5 {
		t.Errorf("%d within the window", got)
	}
	if got := decide(310, 5, 2); got != 2 {
		t.Errorf("%d after the window", got)
	}
}
