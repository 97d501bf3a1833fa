package surge_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// draw returns a scene, also with values that no kubelet reports.
func draw(t *rapid.T) *scene {
	var recents []metric.Recent
	for range rapid.IntRange(0, 5).Draw(t, "pods") {
		var r metric.Recent
		for i := range rapid.IntRange(0, averaging.RecentIntervals).Draw(t, "intervals") {
			r[i] = metric.Sample{
				Present: true, At: noon.Add(-time.Duration(i) * time.Second),
				Milli:  rapid.OneOf(rapid.Int64Range(-1, 9000), rapid.Int64()).Draw(t, "use"),
				Window: time.Duration(rapid.Int64Range(-1, 6000).Draw(t, "span")) * time.Millisecond,
			}
		}
		recents = append(recents, r)
	}
	s := sceneOf(recents...)
	for i := range s.context.Pods {
		s.context.Pods[i].ReadyTransition = noon.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "ready for")) * time.Second)
		s.context.Pods[i].Phase = rapid.SampledFrom([]metric.Phase{metric.PhaseRunning, metric.PhaseRunning,
			metric.PhasePending}).Draw(t, "phase")
		s.reading.Requests[i].Milli = rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(0, math.MaxInt64)).Draw(t,
			"request")
	}
	s.spec.Target.Percent = rapid.Int32Range(1, 200).Draw(t, "target")
	if rapid.Bool().Draw(t, "average") {
		s.average(rapid.Int64Range(1, 2000).Draw(t, "target value"))
	}
	s.context.SpecReplicas = rapid.Int32Range(0, 20).Draw(t, "current")
	s.result.Replicas = rapid.Int32Range(0, 20).Draw(t, "stable")
	s.context.Divergences = rapid.SampledFrom([]divergence.Set{divergence.Default, divergence.SurgeWindow}).Draw(t,
		"divergences")
	return s
}

// TestOnlyMore: a proposal exceeds the current count and the stable window's proposal.
func TestOnlyMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		if got := surge.Evaluate(&s.settings, s.input()); got.Proposes() &&
			got.Replicas <= max(s.context.SpecReplicas, s.result.Replicas) {
			t.Fatalf("%d are there, the stable window asks for %d: %+v", s.context.SpecReplicas, s.result.Replicas, got)
		}
	})
}

// TestNeverMoreThanTheLowest: each of the intervals that have to agree leads to at least that proposal by itself, so
// that a spike in one of them has no effect. A pod that has just become ready adds at most the load that each of the
// others carries.
func TestNeverMoreThanTheLowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		got := surge.Evaluate(&s.settings, s.input())
		if !got.Proposes() {
			return
		}
		for k := range got.Intervals {
			used, wanted := 0.0, 0.0
			for i, pod := range s.context.Pods {
				if pod.Phase != metric.PhaseRunning || noon.Sub(pod.ReadyTransition) < s.settings.ReadyFor {
					continue
				}
				used += max(0, float64(s.reading.Recent[i][k].Milli))
				if s.spec.Target.Type == source.AverageValue {
					wanted += float64(s.spec.Target.Milli)
				} else {
					wanted += float64(s.reading.Requests[i].Milli) * float64(s.spec.Target.Percent) / 100
				}
			}
			most := used / wanted * float64(got.Counted+got.Sharing)
			if float64(got.Replicas) > math.Ceil(most*(1+1e-9)) {
				t.Fatalf("interval %d alone asks for %v: %+v", k, most, got)
			}
		}
	})
}

// TestMoreUseNeverFewer: raising an interval never lowers the proposal.
func TestMoreUseNeverFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		before := surge.Evaluate(&s.settings, s.input())
		if len(s.reading.Recent) == 0 {
			return
		}
		r := &s.reading.Recent[rapid.IntRange(0, len(s.reading.Recent)-1).Draw(t, "pod")]
		interval := &r[rapid.IntRange(0, len(r)-1).Draw(t, "interval")]
		if interval.Present {
			interval.Milli = max(interval.Milli, rapid.Int64Range(0, math.MaxInt64).Draw(t, "more"))
		}
		if after := surge.Evaluate(&s.settings, s.input()); before.Proposes() &&
			(!after.Proposes() || after.Replicas < before.Replicas) {
			t.Fatalf("%+v before, with more use %+v", before, after)
		}
	})
}

// TestBurstOfASecond: pods at their target, with noise of a fifth, have one burst of a second of five times the target.
// At any position between scrapes of any rhythm, with or without an early one, there is no proposal.
func TestBurstOfASecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times []float64 // scrape times in seconds
		at := 0.0
		for range averaging.RecentIntervals + 1 {
			times = append(times, at)
			at += rapid.SampledFrom([]float64{0.2, 0.8, 0.97, 1, 1.03, 2}).Draw(t, "span")
		}
		begin := rapid.Float64Range(-1, at).Draw(t, "burst")
		var r metric.Recent
		for i := range r {
			from, to := times[len(r)-1-i], times[len(r)-i]
			inside := max(0, min(to, begin+1)-max(from, begin))
			noise := rapid.Float64Range(0.8, 1.2).Draw(t, "noise")
			r[i] = metric.Sample{
				Present: true, Milli: int64(500 * noise * (1 + 4*inside/(to-from))), At: noon,
				Window: time.Duration((to - from) * float64(time.Second)),
			}
		}
		s := sceneOf(r)
		if got := surge.Evaluate(&s.settings, s.input()); got.Proposes() {
			t.Fatalf("asks on a burst at %v between scrapes at %v: %+v", begin, times, got)
		}
	})
}

// TestBurstOfASecondInDenseSamples: the same holds for several samples a second.
func TestBurstOfASecondInDenseSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.SampledFrom([]float64{0.1, 0.2, 0.25, 0.33}).Draw(t, "gap")
		times := []float64{0} // sample times, the newest first, in seconds before it
		for range 16 {
			times = append(times, times[len(times)-1]+gap+rapid.SampledFrom([]float64{-0.003, 0, 0.003}).Draw(t, "late"))
		}
		begin, factor := rapid.Float64Range(-1, 3).Draw(t, "burst"), rapid.Float64Range(1, 5).Draw(t, "factor")
		intervals, n := averaging.Recent(len(times), func(k int) time.Duration {
			return time.Duration((times[k+1] - times[k]) * float64(time.Second))
		})
		var r metric.Recent
		for k, i := range intervals[:n] {
			from, to := times[i.Last], times[i.First]
			inside := max(0, min(to, begin+1)-max(from, begin))
			r[k] = metric.Sample{
				Present: true, Milli: int64(500 * (1 + (factor-1)*inside/(to-from))), At: noon,
				Window: time.Duration((to - from) * float64(time.Second)),
			}
		}
		s := sceneOf(r, r)
		if got := surge.Evaluate(&s.settings, s.input()); got.Proposes() {
			t.Fatalf("asks on a burst at %v between samples at %v: %+v of %+v", begin, times, got, r)
		}
	})
}
