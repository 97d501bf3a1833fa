package horizontal_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

func making(t *rapid.T) maker {
	return maker{pick: func(what string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, what) }}
}

// TestWithinBounds: each written count lies between min and max. During maintenance, at zero replicas, no count is
// written.
func TestWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		d, _ := s.decide()
		if d.Rescale != (d.Desired != d.Current) {
			t.Fatalf("from %d to %d, rescale %v", d.Current, d.Desired, d.Rescale)
		}
		if d.Rescale && (d.Desired < s.policy.MinReplicas || d.Desired > s.policy.MaxReplicas) {
			t.Fatalf("writes %d, which is not in %d … %d", d.Desired, s.policy.MinReplicas, s.policy.MaxReplicas)
		}
		if d.Branch == horizontal.BranchDisabled && d.Rescale {
			t.Fatalf("maintenance writes %d", d.Desired)
		}
	})
}

// TestNeverDownOnPartialFailure: only a count above max falls while a metric
// cannot be computed.
func TestNeverDownOnPartialFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		s.observation.Readings[0] = broken()
		if d, _ := s.decide(); d.Branch != horizontal.BranchAboveMax && d.Desired < d.Current {
			t.Fatalf("from %d down to %d on %v", d.Current, d.Desired, d.Branch)
		}
	})
}

// TestMoreLoadNeverFewer: raising one value never lowers the count, with the divergences on. Upstream lowers it in two
// cases: if the number of pods that count differs from spec.replicas, and if numbers overflow.
func TestMoreLoadNeverFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		before, _ := s.decide()
		values := s.observation.Readings[rapid.IntRange(0, len(s.observation.Readings)-1).Draw(t, "reading")]
		switch n := len(values.Samples); {
		case len(values.Series) > 0:
			raise(t, &values.Series[0])
		case n > 0:
			if v := &values.Samples[rapid.IntRange(0, n-1).Draw(t, "pod")]; v.Present {
				raise(t, &v.Milli)
			}
		}
		if after, _ := s.decide(); after.Desired < before.Desired {
			t.Fatalf("from %d: %d before, %d with more load\n%+v\n%+v", before.Current, before.Desired, after.Desired,
				before.Metrics, after.Metrics)
		}
	})
}

func raise(t *rapid.T, milli *int64) {
	*milli += rapid.Int64Range(0, math.MaxInt64-*milli).Draw(t, "more")
}

// TestUpstreamIsNotMonotonic shows the first of these cases.
func TestUpstreamIsNotMonotonic(t *testing.T) {
	p := policy(1, 10)
	p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
	p.DownscaleStabilization = 0
	p.Metrics = []source.Spec{{Type: source.Pods, Name: "rps",
		Target: source.Target{Type: source.AverageValue, Milli: 100}}}
	decide := func(set divergence.Set, milli int64) int32 {
		p.Divergences = set
		o := see(2)
		var r metric.Reading
		for range 3 { // the third pod is a rollout's surge
			o.Pods = append(o.Pods, metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue})
			r.Samples = append(r.Samples, metric.Sample{Present: true, Milli: milli})
		}
		o.Readings = []metric.Reading{r}
		d, _ := horizontal.Decide(noon, &p, remembering(past{time.Hour, 1}), &o)
		return d.Desired
	}
	if less, more := decide(divergence.None, 89), decide(divergence.None, 95); less != 3 || more != 2 {
		t.Errorf("upstream: %d at 89m, %d at 95m; want 3 and 2", less, more)
	}
	if less, more := decide(divergence.Default, 89), decide(divergence.Default, 95); less != 2 || more != 2 {
		t.Errorf("Plimsoll: %d at 89m, %d at 95m; want 2 and 2", less, more)
	}
}

// TestDirection: no metric moves the count against its ratio. At zero, the ratio of a value is the count, so that there
// is no direction.
func TestDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		s.observation.Target.SpecReplicas = max(1, s.observation.Target.SpecReplicas)
		d, _ := s.decide()
		for i, r := range d.Metrics {
			if r.Failure == nil && (r.Ratio > 1 && r.Replicas < d.Current || r.Ratio < 1 && r.Replicas > d.Current) {
				t.Fatalf("metric %d: ratio %v moves %d to %d", i, r.Ratio, d.Current, r.Replicas)
			}
		}
	})
}

// TestMissingPodNeverRaises: one more pod without a sample, or one that is not ready, never raises the result of a
// scale-up. This holds for pods with equal requests and averages without truncation: a missing pod with a small request
// raises the share of the others in the total, and truncation over four pods may remove less than over three. Upstream
// does the same.
func TestMissingPodNeverRaises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy(1, math.MaxInt32)
		p.Divergences = rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences")
		p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
		percent := rapid.Int32Range(1, 200).Draw(t, "target")
		p.Metrics = []source.Spec{rapid.SampledFrom([]source.Spec{
			{Type: source.Resource, Name: "memory", Target: source.Target{Type: source.Utilization, Percent: percent}},
			{Type: source.Pods, Name: "rps", Target: source.Target{Type: source.AverageValue, Milli: int64(percent)}},
		}).Draw(t, "metric")}
		o := see(rapid.Int32Range(1, 12).Draw(t, "current"))
		var r metric.Reading
		add := func(phase metric.Phase, v metric.Sample) {
			o.Pods = append(o.Pods, metric.Pod{Phase: phase, Ready: metric.ReadyTrue})
			r.Samples = append(r.Samples, v)
			r.Requests = append(r.Requests, metric.Request{Milli: 100})
			o.Readings = []metric.Reading{r}
		}
		used := rapid.Int64Range(0, 1000).Draw(t, "used by each pod")
		for range rapid.IntRange(1, 10).Draw(t, "pods") {
			add(metric.PhaseRunning, metric.Sample{Present: true, Milli: used})
		}
		before, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
		for range rapid.IntRange(1, 3).Draw(t, "more pods") {
			add(rapid.SampledFrom([]metric.Phase{metric.PhaseRunning, metric.PhasePending}).Draw(t, "phase"), metric.Sample{})
		}
		after, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
		if was, is := before.Metrics[0].Replicas, after.Metrics[0].Replicas; was > before.Current && is > was {
			t.Fatalf("from %d: %d before, %d with a pod more that nothing is known of", before.Current, was, is)
		}
	})
}

// TestIdempotent: a decision with the same inputs has the same result and, with window-history, adds nothing to the
// history.
func TestIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		s.policy.Divergences = rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences")
		first, state := s.decide()
		s.state = state
		second, again := s.decide()
		if first.Desired != second.Desired || first.Proposed != second.Proposed {
			t.Fatalf("%d, then %d", first.Desired, second.Desired)
		}
		diff := cmp.Diff(state, again, remembered)
		if s.policy.Divergences.Has(divergence.WindowHistory) && diff != "" {
			t.Fatalf("the second remembers otherwise (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(statusreport.Of(&first, horizontal.Outcome{}), statusreport.Of(&second, horizontal.Outcome{})); diff != "" {
			t.Fatalf("the second says otherwise (-first +second):\n%s", diff)
		}
	})
}

// TestStateStaysSmall: the state stays small after a decision a second for an hour, with the longest windows that
// validation permits and a proposal that always changes.
func TestStateStaysSmall(t *testing.T) {
	for name, proposed := range map[string]func(second int) float64{
		"noise":          func(i int) float64 { return float64(i * 7919 % 40) },
		"a wave of load": func(i int) float64 { return 50 + 30*math.Sin(float64(i)/200) + float64(i*7919%7) },
		"a slow fall":    func(i int) float64 { return 60 - float64(i)/60 },
		"steady":         func(int) float64 { return 20 },
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			p.Behavior = defaults()
			p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization = time.Hour, time.Hour
			p.Behavior.Up.Policies[0].Period = 30 * time.Minute
			var s horizontal.State
			var d horizontal.Decision
			current := int32(20)
			for i := range 2 * 3600 {
				now := noon.Add(time.Duration(i) * time.Second)
				o := see(current, length(int32(proposed(i))))
				d, s = horizontal.Decide(now, &p, s, &o)
				s = horizontal.Settle(s, horizontal.Outcome{At: now})
				current = d.Desired
				if n := len(s.Recommendations.Highs) + len(s.Recommendations.Lows); n > 99 {
					t.Fatalf("after %d seconds the windows hold %d entries", i, n)
				}
			}
			if n := len(s.ScaleUps) + len(s.ScaleDowns); n > 99 {
				t.Errorf("%d scale events are remembered", n)
			}
		})
	}
}

// TestEventsAreForgotten: if the count changes every second for an hour, the state keeps only the events of the longest
// period.
func TestEventsAreForgotten(t *testing.T) {
	p := policy(1, 100)
	p.Behavior = rates(unlimited(), unlimited())
	p.Behavior.Up.Policies[0].Period, p.Behavior.Down.Policies[0].Period = time.Minute, time.Minute
	var s horizontal.State
	var d horizontal.Decision
	for i := range 3600 {
		now := noon.Add(time.Duration(i) * time.Second)
		o := see(int32(10+i%2), length(int32(11-i%2)))
		d, s = horizontal.Decide(now, &p, s, &o)
		if !d.Rescale {
			t.Fatalf("second %d: the count does not flip", i)
		}
		s = horizontal.Settle(s, horizontal.Outcome{At: now})
	}
	if len(s.ScaleUps) > 32 || len(s.ScaleDowns) > 32 {
		t.Errorf("%d and %d events are remembered of a minute with 30 each", len(s.ScaleUps), len(s.ScaleDowns))
	}
}
