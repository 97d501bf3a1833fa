package metric_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// sharing returns a scene of pods with a target for their average CPU usage.
func sharing(milli int64, used ...int64) scene {
	spec := averageOf(source.Resource, milli)
	spec.Name = source.CPU
	return running(spec, used...)
}

// ahead sets the clocks of the nodes ahead of the controller's.
func (s scene) ahead(by time.Duration) scene {
	s.reading.Samples = slices.Clone(s.reading.Samples)
	s.pods = slices.Clone(s.pods)
	for i := range s.reading.Samples {
		s.reading.Samples[i].At = s.reading.Samples[i].At.Add(by)
		s.pods[i].ReadyTransition = s.pods[i].ReadyTransition.Add(by)
	}
	return s
}

// over sets the samples' windows to 15 s.
func (s scene) over() scene {
	for i := range s.reading.Samples {
		s.reading.Samples[i].Window = 15 * time.Second
	}
	return s
}

// since sets the window of a pod's sample.
func (s scene) since(pod int, window time.Duration) scene {
	s.reading.Samples[pod].Window = window
	return s
}

// started sets for how long a pod has been ready.
func (s scene) started(pod int, readyFor time.Duration) scene {
	s.pods[pod].ReadyTransition = now.Add(-readyFor)
	s.pods[pod].StartTime = now.Add(-readyFor - time.Second)
	return s
}

// earlier sets the pods' usage up to ten seconds ago; -1 is an unknown one.
func (s scene) earlier(milli ...int64) scene {
	for _, m := range milli {
		one := metric.Sample{Present: m >= 0, Milli: max(0, m), At: now.Add(-10 * time.Second), Window: 15 * time.Second}
		s.reading.Earlier = append(s.reading.Earlier, one)
	}
	return s
}

// among evaluates the scene with a history of the numbers of ready pods.
func (s scene) among(ready ...history.ReadyPods) metric.Result {
	var r metric.Result
	metric.Evaluate(&s.spec, &s.reading, &metric.Context{
		Now: now, SpecReplicas: s.current, StatusReplicas: s.existing, Pods: s.pods, Tolerance: s.tolerance,
		CPUInitializationPeriod: initialization, InitialReadinessDelay: readinessDelay, Divergences: s.set, Ready: ready,
		IsBetween: !s.raisedAt.IsZero(), RaisedAt: s.raisedAt, Unreached: s.unreached,
	}, &r)
	return r
}

func readyPods(pods int32, ago time.Duration) history.ReadyPods {
	return history.ReadyPods{Time: now.Add(-ago), Pods: pods}
}

// TestNewPodSharesTheLoad: samples reach back to when fewer pods shared the load.
func TestNewPodSharesTheLoad(t *testing.T) {
	const second = time.Second
	// Two pods use 1200m together; the third has been ready for five seconds.
	three := func() scene { return sharing(400, 533, 533, 400).over().since(2, 5*second) }
	comes := []history.ReadyPods{readyPods(2, time.Hour), readyPods(3, 5*second)}
	for name, tt := range map[string]struct {
		reason string
		scene  scene
		ready  []history.ReadyPods
		want   int32
		shared int64
	}{
		"a pod comes": {"533 / (3 · (10/2 + 5/3) / 15) is 399.75, and the new one uses 400: no less than that", three(),
			comes, 3, 2 * (533 - 400)},
		"all are saturated": {"the new one uses as much as the others: they had no more before",
			sharing(400, 1000, 1000, 1000).over().since(2, 5*second), comes, 8, 0},
		"those that started": {"what a new pod uses at its start is no part of the load: 533 are 399",
			sharing(400, 533, 533, 5000).over().since(2, 5*second).started(2, 5*second), comes, 3, 2 * (533 - 399)},
		"switched off":                        {"1466/3 is 488, 22 % above", three().with(divergence.Default &^ divergence.LoadOnce), comes, 4, 0},
		"nothing is known of the time before": {"nothing says that it has just come", three(), nil, 4, 0},
		"long ago": {"all samples are of three pods", three(),
			[]history.ReadyPods{readyPods(2, time.Hour), readyPods(3, 16*second)}, 4, 0},
		"clocks are ahead": {"by half a minute: what they took now is of now", three().ahead(30 * second), comes, 3,
			2 * (533 - 400)},
		"as many go as come": {"in a rollout nobody's part changes", three(),
			[]history.ReadyPods{readyPods(3, time.Hour), readyPods(3, 5*second)}, 4, 0},
		"one goes": {"the others have its part in the last five seconds alone: nothing is left out",
			sharing(400, 533, 533, 533).over(),
			[]history.ReadyPods{readyPods(4, time.Hour), readyPods(3, 5*second)}, 4, 0},
		"it does not count yet": {"what it has is in nobody's sample: two of the two that count",
			sharing(400, 600, 600).missing(0).over(),
			comes, 3, 0},
		"memory": {"it does not move", func() scene {
			s := three()
			s.spec.Name = "memory"
			return s
		}(), comes, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.scene.among(tt.ready...)
			if r.Failure != nil || r.Replicas != tt.want || r.SharedMilli != tt.shared {
				t.Errorf("%s: %d replicas, %dm left out; want %d, %dm (%+v)", tt.reason, r.Replicas, r.SharedMilli, tt.want,
					tt.shared, r)
			}
		})
	}
}

// TestSharedBeforeTheStart: if other pods became ready later, a part of a new pod's usage is left out. The rule for
// pods that are starting does not leave it out again. The load counts the same with any number of pods, and pods above
// their target do not propose fewer of them.
func TestSharedBeforeTheStart(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		old, first, second int
		used, usedBySecond int64
		raised             time.Duration
		unreached          int32
		want               int32
	}{
		// In the 15 s of the windows of ten, they had 2000m each for 9 s, and 1000m for 6 s.
		"at the target":            {2, 8, 10, 1600, 1000, 0, 0, 20},
		"at the target, between":   {2, 8, 10, 1600, 1000, 40 * second, 0, 20},
		"saturated":                {2, 8, 10, 2000, 2000, 0, 0, 25},
		"saturated, doubled twice": {4, 4, 8, 2000, 2000, 40 * second, 0, 20},
		"saturated, all new":       {0, 2, 2, 2000, 2000, 0, 0, 5},
		// After a rise by the start of these pods, the next one waits for the next sync period, independent of their start.
		"all new, after a rise":      {0, 2, 2, 2000, 2000, 10 * second, 0, 0},
		"all new, asked for before":  {0, 2, 2, 2000, 2000, 10 * second, 6, 5},
		"all new, asked for less":    {0, 2, 2, 2000, 2000, 10 * second, 5, 5},
		"all new, for little more":   {0, 2, 2, 2000, 2000, 10 * second, 4, 0},
		"all new, not needed":        {0, 2, 2, 500, 500, 10 * second, 6, 0},
		"all new, when it may end":   {0, 2, 2, 2000, 2000, 45*second - 1, 0, 0},
		"all new, long after a rise": {0, 2, 2, 2000, 2000, 45 * second, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := sharing(1000, slices.Concat(slices.Repeat([]int64{tt.used}, tt.old+tt.first),
				slices.Repeat([]int64{tt.usedBySecond}, tt.second))...).over()
			for i := tt.old; i < len(s.pods); i++ {
				if s = s.started(i, 25*second); i >= tt.old+tt.first {
					s = s.started(i, 6*second).since(i, 5*second)
				}
			}
			ready := []history.ReadyPods{
				readyPods(int32(tt.old), time.Hour), readyPods(int32(tt.old+tt.first), 25*second),
				readyPods(int32(len(s.pods)), 6*second),
			}
			if tt.raised > 0 {
				s.raisedAt, s.unreached = now.Add(-tt.raised), tt.unreached
			}
			if r := s.among(ready...); r.Failure != nil || r.Replicas != tt.want || r.Pending != (tt.want == 0) {
				t.Errorf("%d replicas, want %d (%+v)", r.Replicas, tt.want, r)
			}
		})
	}
}

// TestMovedLoad: the pods' samples have different times, and load may be in two of them, or in none.
func TestMovedLoad(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		scene  scene
		want   int32
		moved  int64
	}{
		"moved": {"1000m before, 600m of it unequal: all but a tenth of 1000m is left out of 1600m",
			sharing(260, 700, 700, 100, 100).earlier(700, 100, 100, 100), 4, 500},
		"switched off": {"1600m", sharing(260, 700, 700, 100, 100).earlier(700, 100, 100, 100).
			with(divergence.Default &^ divergence.LoadOnce), 7, 0},
		"equal before": {"nothing can have moved: the load has grown",
			sharing(260, 250, 450, 450, 450).earlier(250, 250, 250, 250), 7, 0},
		"grown more than that": {"3400m instead of 1000m: 500m of it may have moved",
			sharing(260, 700, 2500, 100, 100).earlier(700, 100, 100, 100), 12, 500},
		"grown less than that": {"60m more than before: no more than that was counted twice",
			sharing(260, 700, 560, 0, 0).earlier(700, 500, 0, 0), 5, 60},
		"within the tolerance": {"1060m of 1040m: nothing is decided on it",
			sharing(260, 700, 160, 100, 100).earlier(700, 100, 100, 100), 4, 0},
		"a little unequal": {"90m of 970m unequal: that is less than the tolerance",
			sharing(260, 400, 400, 400, 400).earlier(250, 250, 250, 220), 7, 0},
		"less, but more than now": {"the use fell, and still asks for more: nothing was counted twice",
			sharing(260, 700, 400, 100, 100).earlier(1400, 100, 100, 100), 5, 0},
		"never turns": {"1100m of 1200m would be below the target: the count stays",
			sharing(300, 700, 700, 100, 100).earlier(700, 100, 100, 100), 4, 500},
		"in no sample": {"400m instead of 1000m: up to 500m may have moved to a pod whose sample is from before",
			sharing(250, 100, 100, 100, 100).earlier(700, 100, 100, 100), 4, -500},
		"in no sample, switched off": {"400m", sharing(250, 100, 100, 100, 100).earlier(700, 100, 100, 100).
			with(divergence.Default &^ divergence.LoadOnce), 2, 0},
		"grown, and below": {"the use grew, and asks for fewer all the same: nothing is in no sample",
			sharing(500, 700, 200, 100, 100).earlier(700, 100, 100, 100), 3, 0},
		"all stopped": {"nothing made them unequal: the load is gone",
			sharing(250, 100, 100, 100, 100).earlier(250, 250, 250, 250), 2, 0},
		"down, never turns": {"400m and 2400m may be 2800m: that would be above",
			sharing(250, 100, 100, 100, 100).earlier(3000, 0, 0, 0), 4, -2600},
		"one is new": {"what the new one used before is not known: it counts as now, and makes nobody unequal",
			sharing(260, 700, 700, 100, 100).earlier(700, -1, 100, 100), 7, 0},
		"nothing is known of before": {"", sharing(260, 700, 700, 100, 100), 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.scene.evaluate()
			if r.Failure != nil || r.Replicas != tt.want || r.MovedMilli != tt.moved {
				t.Errorf("%s: %d replicas, %dm moved, %s; want %d, %dm", tt.reason, r.Replicas, r.MovedMilli, r.Verdict, tt.want,
					tt.moved)
			}
		})
	}
}

// TestNeverTurned: load-once proposes a count between the current one and upstream's.
func TestNeverTurned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 2000), 1, 8)
		used := values.Draw(t, "used")
		s := sharing(rapid.Int64Range(50, 1000).Draw(t, "target"), used...)
		before := rapid.SliceOfN(rapid.Int64Range(-1, 2000), len(used), len(used)).Draw(t, "before")
		with := s.earlier(before...).evaluate()
		without := s.evaluate()
		lower, higher := min(without.Replicas, s.current), max(without.Replicas, s.current)
		if with.Replicas < lower || with.Replicas > higher {
			t.Fatalf("%d replicas (%s); without %d (%s), of %d", with.Replicas, with.Verdict, without.Replicas, without.Verdict,
				s.current)
		}
		if without.Verdict == metric.WithinTolerance && with.MovedMilli != 0 {
			t.Fatalf("%dm moved within the tolerance", with.MovedMilli)
		}
	})
}

// BenchmarkLoadOnce evaluates a metric with some new pods and samples of different times.
func BenchmarkLoadOnce(b *testing.B) {
	for _, pods := range []int{10, 1000} {
		b.Run(fmt.Sprint("pods=", pods), func(b *testing.B) {
			s := sharing(260, slices.Repeat([]int64{400}, pods)...).over().
				earlier(slices.Repeat([]int64{700, 100}, pods/2)...)
			c := metric.Context{
				Now: now, SpecReplicas: s.current, StatusReplicas: s.existing, Pods: s.pods, Tolerance: s.tolerance,
				Divergences: s.set, Ready: history.Ready{readyPods(s.current/2, time.Hour), readyPods(s.current, 5*time.Second)},
			}
			var r metric.Result
			b.ReportAllocs()
			for b.Loop() {
				metric.Evaluate(&s.spec, &s.reading, &c, &r)
			}
			if r.SharedMilli == 0 {
				b.Error("nothing is left out")
			}
		})
	}
}

// Each object has a decision each second.
func TestLoadOnceAllocatesNothing(t *testing.T) {
	s := sharing(260, 700, 700, 100, 100).over().earlier(700, 100, 100, 100)
	c := metric.Context{
		Now: now, SpecReplicas: 4, StatusReplicas: 4, Pods: s.pods, Tolerance: s.tolerance, Divergences: s.set,
		Ready: history.Ready{readyPods(3, time.Hour), readyPods(4, 5*time.Second)},
	}
	r := metric.Result{Groups: make([]metric.Group, 0, 4)}
	if n := testing.AllocsPerRun(100, func() { metric.Evaluate(&s.spec, &s.reading, &c, &r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
