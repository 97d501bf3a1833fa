package surge_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// scene has one CPU metric with a target of 500m, and pods that request a core.
type scene struct {
	settings surge.Settings
	spec     source.Spec
	reading  metric.Reading
	result   metric.Result
	context  metric.Context
}

// sceneOf returns a scene with a running pod for each of the recents, ready for an hour, and as many wanted replicas.
func sceneOf(recents ...metric.Recent) *scene {
	s := &scene{
		settings: surge.Defaults(),
		spec: source.Spec{
			Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: 50},
		},
		reading: metric.Reading{Recent: recents},
		result:  metric.Result{Replicas: int32(len(recents))},
		context: metric.Context{
			Now: noon, SpecReplicas: int32(len(recents)), Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			Divergences: divergence.Default,
		},
	}
	for i := range recents {
		s.context.Pods = append(s.context.Pods, metric.Pod{
			Name: fmt.Sprintf("web-%d", i), Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			ReadyTransition: noon.Add(-time.Hour),
		})
		s.reading.Requests = append(s.reading.Requests, metric.Request{Milli: 1000})
	}
	return s
}

func (s *scene) input() *surge.Input {
	return &surge.Input{
		Specs: []source.Spec{s.spec}, Readings: []metric.Reading{s.reading}, Results: []metric.Result{s.result},
		Context: &s.context,
	}
}

// endpoint turns the metric into one of the pods' endpoints, a rate or a gauge, with a target of 500 for each pod.
func (s *scene) endpoint(isRate bool) {
	s.spec = source.Spec{Type: source.PodEndpoint, Name: "requests", IsRate: isRate}
	s.average(500)
}

// unsampled leaves the pods from the given one on out of the sample.
func (s *scene) unsampled(from int) {
	s.reading.Samples = make([]metric.Sample, len(s.context.Pods))
	for i := range s.reading.Samples {
		s.reading.Samples[i].Unsampled = i >= from
	}
	s.result.Counts = metric.Counts{Counted: from, Unsampled: len(s.context.Pods) - from}
}

// average sets the target to an average of that many milli-cores.
func (s *scene) average(milli int64) {
	s.spec.Target = source.Target{Type: source.AverageValue, Milli: milli}
	s.reading.Requests = nil
}

// recent returns intervals of a second each, the newest first.
func recent(milli ...int64) metric.Recent {
	var r metric.Recent
	end := noon
	for i, m := range milli {
		r[i] = metric.Sample{Present: true, Milli: m, At: end, Window: time.Second}
		end = end.Add(-time.Second)
	}
	return r
}

// spans returns intervals of these milliseconds with the same usage.
func spans(milli int64, millis ...int64) metric.Recent {
	var r metric.Recent
	for i, n := range millis {
		r[i] = metric.Sample{Present: true, Milli: milli, At: noon, Window: time.Duration(n) * time.Millisecond}
	}
	return r
}

// dense returns the intervals of samples that arrive four times a second.
func dense(milli ...int64) metric.Recent {
	r := recent(milli...)
	r[0].Window, r[2].Window = 250*time.Millisecond, 250*time.Millisecond
	return r
}

func TestEvaluate(t *testing.T) {
	ten, calm := recent(5000, 5000, 5000), recent(500, 500, 500)
	only := func(r ...metric.Recent) func() *scene { return func() *scene { return sceneOf(r...) } }
	but := func(s *scene, change func(*scene)) func() *scene {
		return func() *scene { change(s); return s }
	}
	for name, tt := range map[string]struct {
		reason  string
		scene   func() *scene
		verdict surge.Verdict
		want    int32
	}{
		"at the target": {"nothing happens", only(calm, calm), surge.BelowThreshold, 0},
		"ten times":     {"2 × 10", only(ten, ten), surge.Asking, 20},
		"two intervals": {"two are enough above 8", only(recent(5000, 4500, 0), recent(5000, 4500, 0)), surge.Asking,
			18},
		"two, but of 8": {"above 8, not at it", only(recent(4000, 4000, 0)), surge.BelowThreshold, 0},
		"just above 8":  {"ceil(8.002)", only(recent(4001, 4001, 0)), surge.Asking, 9},
		"two known":     {"the third is not needed", only(recent(5000, 5000)), surge.Asking, 10},
		"one is none":   {"seconds are noisy", only(recent(50000)), surge.NoData, 0},
		"three above the margin": {"2 × 1.6, rounded up", only(recent(900, 800, 900), recent(800, 900, 900)), surge.Asking,
			4},
		"three at the margin": {"above it, not at it", only(recent(750, 750, 750)), surge.BelowThreshold, 0},
		"the lowest counts": {"pod by pod: (400+800)/1000 is within the margin",
			only(recent(2000, 400, 2000), recent(800, 2000, 2000)), surge.BelowThreshold, 0},
		"the steep rule wins": {"three say 2, two say 10", only(recent(5000, 5000, 1000)), surge.Asking, 10},
		"the margin wins":     {"two are not steep enough", only(recent(3900, 3900, 1500)), surge.Asking, 3},

		"short beside long": {"a second look after 200 ms", only(spans(5000, 200, 1000)), surge.Asking, 10},
		"two short":         {"400 ms may be one burst", only(spans(5000, 200, 200)), surge.NoData, 0},
		"short in the middle": {"a burst of a second reaches into all three", only(spans(1500, 1000, 200, 1000)),
			surge.BelowThreshold, 0},
		"short at the ends": {"it cannot, past a long one in the middle", only(spans(1500, 200, 1000, 200)), surge.Asking,
			3},
		"four times a second": {"the lowest of them is 6 times the target",
			only(dense(4000, 3000, 3500), dense(4000, 3000, 3500)), surge.Asking, 12},
		"a second of garbage collection": {"ten times the target in the newest two, which a second covers: the third decides",
			only(dense(5500, 4500, 500), dense(5500, 4500, 500)), surge.BelowThreshold, 0},
		"long intervals":       {"two of 5 s fit into the window", only(spans(5000, 5000, 5000)), surge.Asking, 10},
		"too long intervals":   {"two of 6 s do not", only(spans(5000, 6000, 6000)), surge.NoData, 0},
		"no span":              {"a sample that spans nothing is none", only(spans(5000, 0, 1000)), surge.NoData, 0},
		"negative":             {"nor is a negative one", only(recent(5000, -1, 5000)), surge.NoData, 0},
		"one pod hot of three": {"2 of 3 do not show it", only(ten, calm, calm), surge.TooFewPods, 0},
		"one pod hot of two":   {"half is one alone", only(recent(8000, 8000, 8000), calm), surge.TooFewPods, 0},
		"two pods hot of four": {"half does", only(recent(8000, 8000, 8000), recent(8000, 8000, 8000), calm, calm),
			surge.Asking, 34},
		"a pod without samples": {"it is taken to use nothing: 3 × 6.7", only(ten, ten, recent()), surge.Asking, 20},
		"a pod with too few":    {"two intervals are not three", only(ten, ten, recent(5000)), surge.Asking, 20},

		"less than 50m": {"ten times 4m is nothing", but(sceneOf(recent(40, 40, 40)), func(s *scene) { s.average(4) }),
			surge.BelowLeastCPU, 0},
		"50m": {"12.5 × 4m is", but(sceneOf(recent(50, 50, 50)), func(s *scene) { s.average(4) }), surge.Asking, 13},
		"50m of two": {"on average over the pods", but(sceneOf(recent(98, 98, 98), recent(1, 1, 1)),
			func(s *scene) { s.average(4) }), surge.BelowLeastCPU, 0},
		"average value": {"2 × 5000/1000", but(sceneOf(ten, ten), func(s *scene) { s.average(1000) }), surge.Asking, 10},
		"container": {"of one container", but(sceneOf(ten, ten), func(s *scene) {
			s.spec.Type, s.spec.Container = source.ContainerResource, "app"
		}), surge.Asking, 20},
		"without the container": {"that pod has no part in it", but(sceneOf(ten, ten), func(s *scene) {
			s.reading.Requests[1] = metric.Request{Missing: metric.ContainerNotFound}
		}), surge.Asking, 10},
		"memory": {"rises slowly", but(sceneOf(ten, ten), func(s *scene) { s.spec.Name = "memory" }), surge.NoData, 0},
		"a pods metric": {"has no intervals", but(sceneOf(ten, ten), func(s *scene) { s.spec.Type = source.Pods }),
			surge.NoData, 0},
		"failed metric": {"a metric that fails asks for nothing", but(sceneOf(ten, ten), func(s *scene) {
			s.result.Failure = &source.Failure{}
		}), surge.NoData, 0},
		"no requests": {"nothing to be compared with", but(sceneOf(ten), func(s *scene) { s.reading.Requests[0].Milli = 0 }),
			surge.NoData, 0},

		"a rate": {"2 × 10", but(sceneOf(recent(20000, 20000, 20000), recent(20000, 20000, 20000)), func(s *scene) {
			s.endpoint(true)
			s.average(2000)
		}), surge.Asking, 20},
		"a rate of few events": {"5 a second come by chance", but(sceneOf(ten, ten), func(s *scene) { s.endpoint(true) }),
			surge.TooFewEvents, 0},
		"a rate over longer intervals": {"5 a second in 2 s are 10", but(sceneOf(spans(5000, 2000, 2000)),
			func(s *scene) { s.endpoint(true) }), surge.Asking, 10},
		"a gauge": {"it counts no events", but(sceneOf(ten, ten), func(s *scene) { s.endpoint(false) }),
			surge.Asking, 20},
		"a little of a gauge": {"the least CPU is not for it", but(sceneOf(recent(40, 40, 40)), func(s *scene) {
			s.endpoint(false)
			s.average(4)
		}), surge.Asking, 10},
		"an endpoint called cpu": {"the name means nothing", but(sceneOf(recent(40, 40, 40)), func(s *scene) {
			s.endpoint(false)
			s.average(4)
			s.spec.Name = source.CPU
		}), surge.Asking, 10},
		"a value for all": {"500 for 2 are 250 each", but(sceneOf(ten, ten), func(s *scene) {
			s.endpoint(false)
			s.spec.Target.Type, s.result.Counts = source.Value, metric.Counts{Counted: 2}
		}), surge.Asking, 40},
		"sampled": {"2 of 10 pods stand for all", but(sceneOf(slices.Concat([]metric.Recent{ten, ten},
			make([]metric.Recent, 8))...), func(s *scene) {
			s.endpoint(false)
			s.unsampled(2)
		}), surge.Asking, 100},
		"sampled, and some are new": {"of those that were not asked the ready ones count: 10 of 3",
			but(sceneOf(ten, ten, recent(), recent(), recent()), func(s *scene) {
				s.endpoint(false)
				s.unsampled(2)
				s.context.Pods[3].Ready, s.context.Pods[4].ReadyTransition = metric.ReadyFalse, noon.Add(-time.Second/2)
			}), surge.Asking, 30},
		"sampled, and one shares": {"4/3 pods for each of 4 that were asked", but(sceneOf(ten, ten, recent(2000),
			recent()), func(s *scene) {
			s.endpoint(false)
			s.unsampled(3)
			s.context.Pods[2].ReadyTransition = noon.Add(-time.Second)
		}), surge.Asking, 32},

		"just ready": {"30 s of start are not over when the intervals begin", but(sceneOf(ten), func(s *scene) {
			s.context.Pods[0].ReadyTransition = noon.Add(-32 * time.Second)
		}), surge.NoData, 0},
		"ready": {"33 s are enough for three seconds", but(sceneOf(ten), func(s *scene) {
			s.context.Pods[0].ReadyTransition = noon.Add(-33 * time.Second)
		}), surge.Asking, 10},
		"new pods beside": {"they are not multiplied: 2 × 10 in all",
			but(sceneOf(ten, ten, recent(), recent()), func(s *scene) {
				s.context.Pods[2].Ready, s.context.Pods[3].Phase = metric.ReadyFalse, metric.PhasePending
			}), surge.Asking, 20},
		"shares": {"a pod that has just become ready, and helps: 10 + 4", but(sceneOf(ten, recent(2000)), func(s *scene) {
			s.context.Pods[1].ReadyTransition = noon.Add(-time.Second)
		}), surge.Asking, 14},
		"shares and starts": {"at most as much as the others carry is load: 10 + 10",
			but(sceneOf(ten, recent(9000)), func(s *scene) {
				s.context.Pods[1].ReadyTransition = noon.Add(-14 * time.Second)
			}), surge.Asking, 20},
		"does not share yet": {"it became ready within the interval", but(sceneOf(ten, recent(2000)), func(s *scene) {
			s.context.Pods[1].ReadyTransition = noon.Add(-999 * time.Millisecond)
		}), surge.Asking, 10},
		"a short interval of it": {"a second after the time that the API has it certainly is after its start: 10 + 4",
			but(sceneOf(ten, dense(2000, 0, 0)), func(s *scene) {
				s.context.Pods[1].ReadyTransition = noon.Add(-1250 * time.Millisecond)
			}), surge.Asking, 14},
		"a short interval in its first second": {"it may be of its start", but(sceneOf(ten, dense(2000, 0, 0)), func(s *scene) {
			s.context.Pods[1].ReadyTransition = noon.Add(-1249 * time.Millisecond)
		}), surge.Asking, 10},
		"not ready": {"what it uses is no load", but(sceneOf(ten, recent(2000)), func(s *scene) {
			s.context.Pods[1].Ready = metric.ReadyFalse
		}), surge.Asking, 10},
		"helped enough": {"the others are below the margin: no surge, whatever the new one does",
			but(sceneOf(calm, ten), func(s *scene) {
				s.context.Pods[1].ReadyTransition = noon.Add(-14 * time.Second)
			}), surge.BelowThreshold, 0},
		"going": {"a pod on its way out, and a failed one", but(sceneOf(ten, ten, ten), func(s *scene) {
			s.context.Pods[1].Deleting, s.context.Pods[2].Phase = true, metric.PhaseFailed
		}), surge.Asking, 10},

		"a rollout's surge": {"3 pods of 2 wanted: 2 × 10",
			but(sceneOf(ten, ten, ten), func(s *scene) { s.context.SpecReplicas = 2 }), surge.Asking, 20},
		"a rollout's surge, as upstream": {"3 × 10", but(sceneOf(ten, ten, ten), func(s *scene) {
			s.context.SpecReplicas, s.context.Divergences = 2, divergence.SurgeWindow
		}), surge.Asking, 30},
		"enough already": {"20 are there", but(sceneOf(ten, ten), func(s *scene) { s.context.SpecReplicas = 20 }),
			surge.NotHigher, 20},
		"the stable one": {"asks for 20 itself", but(sceneOf(ten, ten), func(s *scene) { s.result.Replicas = 20 }),
			surge.NotHigher, 20},
		"more than it": {"20 are more than 19", but(sceneOf(ten, ten), func(s *scene) { s.result.Replicas = 19 }),
			surge.Asking, 20},
		"tolerance holds": {"twice the target is within it",
			but(sceneOf(recent(900, 900, 900)), func(s *scene) { s.context.Tolerance.Up = 1 }), surge.BelowThreshold, 0},
		"off by flag": {"no window", but(sceneOf(ten), func(s *scene) { s.settings.Window = 0 }), surge.NoData, 0},
		"off by name": {"as upstream",
			but(sceneOf(ten), func(s *scene) { s.context.Divergences &^= divergence.SurgeWindow }), surge.NoData, 0},
		"none collected": {"metrics.k8s.io has no intervals", but(sceneOf(ten), func(s *scene) { s.reading.Recent = nil }),
			surge.NoData, 0},
		"the least CPU is a setting": {"1m is enough then", but(sceneOf(recent(40, 40, 40)), func(s *scene) {
			s.average(4)
			s.settings.LeastCPUMilli = 1
		}), surge.Asking, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.scene()
			got := surge.Evaluate(&s.settings, s.input())
			if got.Verdict != tt.verdict || got.Replicas != tt.want {
				t.Errorf("%s: got %q, %d; want %q, %d\n%+v", tt.reason, got.Verdict, got.Replicas, tt.verdict, tt.want, got)
			}
			if got.Proposes() != (tt.verdict == surge.Asking) {
				t.Errorf("asks: %v", got.Proposes())
			}
		})
	}
}

// TestNumbers: the numbers of the explanation are those of the proposal.
func TestNumbers(t *testing.T) {
	s := sceneOf(recent(5000, 4400, 100), recent(5001, 4600, 100), recent())
	s.reading.Recent[1][0].At = noon.Add(-300 * time.Millisecond)
	s.reading.Recent[1][1].Window = 1200 * time.Millisecond
	s.context.Pods[2].Deleting = true
	got := surge.Evaluate(&s.settings, s.input())
	want := surge.Result{
		Verdict: surge.Asking, Replicas: 18, Intervals: 2, Factor: 8, Span: 2200 * time.Millisecond,
		Milli: 4500, Ratio: 9, Adjusted: 9, Base: 2, Counted: 2, Showing: 2, At: noon, Suspicious: true,
	}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestSecondMetric: the metric with the highest proposal is reported.
func TestSecondMetric(t *testing.T) {
	s := sceneOf(recent(5000, 5000, 5000))
	in := s.input()
	in.Specs = append(in.Specs, s.spec, s.spec)
	in.Specs[1].Target.Percent, in.Specs[2].Target.Percent = 25, 100
	in.Readings = append(in.Readings, s.reading, s.reading)
	in.Results = append(in.Results, s.result, s.result)
	if got := surge.Evaluate(&s.settings, in); got.Metric != 1 || got.Replicas != 20 {
		t.Errorf("got %+v", got)
	}
}

func TestSuspects(t *testing.T) {
	calm := recent(500, 500, 500)
	for name, tt := range map[string]struct {
		reason string
		recent metric.Recent
		change func(*scene)
		want   bool
	}{
		"calm":            {"nothing to confirm", calm, nil, false},
		"the first steep": {"one more would decide", recent(4500, 500, 500), nil, true},
		"the first ever":  {"so it would here", recent(4500), nil, true},
		"the second":      {"that has decided", recent(4500, 4500, 500), nil, false},
		"a short one": {"a second look gives two short ones", spans(4500, 200, 1000), func(s *scene) {
			s.reading.Recent[0][1].Milli = 500
		}, false},
		"one of three": {"fewer than half of the pods", recent(4500, 500, 500), func(s *scene) {
			s.context.Pods = append(s.context.Pods, s.context.Pods[1])
			s.reading.Recent, s.reading.Requests = append(s.reading.Recent, calm),
				append(s.reading.Requests, metric.Request{Milli: 1000})
		}, false},
		"not steep": {"below 8 it takes three, and a short one does not help", recent(3900, 500, 500), nil, false},
		"too little": {"below 50m there is no surge", recent(49), func(s *scene) {
			s.reading.Requests[0].Milli = 8
		}, false},
		"just ready": {"it is starting", recent(4500, 500, 500), func(s *scene) {
			s.context.Pods[0].ReadyTransition = noon.Add(-14 * time.Second)
		}, false},
		"off": {"nothing is asked", recent(4500, 500, 500), func(s *scene) { s.settings.Window = 0 }, false},
		"as upstream": {"nothing is asked", recent(4500, 500, 500), func(s *scene) {
			s.context.Divergences = divergence.None
		}, false},
		"without the container": {"it has no target", recent(4500, 500, 500), func(s *scene) {
			s.reading.Requests[0] = metric.Request{Missing: metric.ContainerNotFound}
		}, false},
		"a rate": {"one more would decide", recent(45000, 500, 500), func(s *scene) { s.endpoint(true) }, true},
		"a rate of few events": {"9 in a second come by chance", recent(9000, 500, 500),
			func(s *scene) { s.endpoint(true) }, false},
		"not sampled": {"what it used before says nothing now", recent(4500, 500, 500), func(s *scene) {
			s.endpoint(false)
			s.unsampled(0)
		}, false},
		"none": {"no interval", recent(), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOf(tt.recent, calm)
			if tt.change != nil {
				tt.change(s)
			}
			got := surge.Suspects(&s.settings, s.input(), nil)
			if (len(got) == 1 && got[0] == 0) != tt.want || len(got) > 1 {
				t.Errorf("%s: suspects %v, want pod 0: %v", tt.reason, got, tt.want)
			}
		})
	}
}
