package simulate

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// autoscaler scales on CPU.
func autoscaler(percent, least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: ptr.To(least), MaxReplicas: most,
		Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   "cpu",
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(percent)},
			},
		}},
	}}
}

func sceneOf(tb testing.TB, text string) *Scene {
	tb.Helper()
	l, err := load.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	w := DefaultWorkload()
	w.Complete()
	s, err := NewScene(l, w, observehorizontal.HPA(autoscaler(50, 2, 20)))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func playOf(tb testing.TB, s *Scene, side Side) *Run {
	tb.Helper()
	run, err := Play(tb.Context(), s, Setting{Name: string(side), Side: side, HPA: autoscaler(50, 2, 20)}, Watch{})
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

// BenchmarkDay is a day of one workload at a resolution of a second.
func BenchmarkDay(b *testing.B) {
	for _, side := range []Side{Upstream, Plimsoll} {
		b.Run(string(side), func(b *testing.B) {
			s := sceneOf(b, "generated:office")
			b.ReportAllocs()
			for b.Loop() {
				playOf(b, s, side)
			}
		})
	}
}

// TestBothReachTheLoad: a load that stays is served with as many pods as the target
// asks for, give or take the tolerance.
func TestBothReachTheLoad(t *testing.T) {
	for _, side := range []Side{Upstream, Plimsoll} {
		s := sceneOf(t, "step:20@0s,100@5m,20@15m")
		s.For = 40 * time.Minute
		var middle, last Moment
		_, err := Play(t.Context(), s, Setting{Side: side, HPA: autoscaler(50, 2, 20)}, Watch{Moment: func(m *Moment) {
			if m.At == 14*time.Minute {
				middle = *m
			}
			last = *m
		}})
		if err != nil {
			t.Fatal(err)
		}
		if middle.Ready < middle.Need*9/10 || middle.Ready > middle.Need*12/10 {
			t.Errorf("%s: %d ready of the %d that 100 asks for", side, middle.Ready, middle.Need)
		}
		if last.Ready < last.Need || last.Ready > last.Need+1 {
			t.Errorf("%s: %d ready of the %d that 20 asks for", side, last.Ready, last.Need)
		}
	}
}

// TestContainers: a Resource metric counts all containers of a pod, and a ContainerResource metric the one that it names.
// Either leads to as many pods as its target asks for of the container that serves.
func TestContainers(t *testing.T) {
	const percent = 50
	one := autoscaler(percent, 2, 40)
	one.Spec.Metrics = []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ContainerResourceMetricSourceType,
		ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: "cpu", Container: "web", Target: autoscaler(percent, 2, 40).Spec.Metrics[0].Resource.Target,
		},
	}}
	average := autoscaler(percent, 2, 40)
	average.Spec.Metrics[0].Resource.Target = autoscalingv2.MetricTarget{
		Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewMilliQuantity(250, resource.DecimalSI),
	}
	for name, test := range map[string]struct {
		hpa     *autoscalingv2.HorizontalPodAutoscaler
		sidecar world.Sidecar
		target  float64
	}{
		"all, in cores":      {average, world.Sidecar{Name: "proxy", CPURequestMilli: 250}, 0.5},
		"all, an idle one":   {autoscaler(percent, 2, 40), world.Sidecar{Name: "proxy", CPURequestMilli: 250}, 0.75},
		"all, a busy one":    {autoscaler(percent, 2, 40), world.Sidecar{Name: "logs", CPURequestMilli: 200, CPUMilli: 150}, 0.4},
		"one of the two":     {one, world.Sidecar{Name: "logs", CPURequestMilli: 200, CPUMilli: 150}, 0.5},
		"one beside an idle": {one, world.Sidecar{Name: "proxy"}, 0.5},
	} {
		for _, side := range []Side{Upstream, Plimsoll} {
			w := DefaultWorkload()
			w.Complete()
			w.Pod.Spec.Containers[0].Name, w.Sidecars = "web", []world.Sidecar{test.sidecar}
			l, err := load.Parse("step:20@0s,100@5m")
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewScene(l, w, observehorizontal.HPA(test.hpa))
			if err != nil {
				t.Fatal(err)
			}
			s.For, s.PodCapacity = 15*time.Minute, 10
			if math.Abs(s.Target-test.target) > 1e-9 {
				t.Errorf("%s: the target is %v of the container that serves, want %v", name, s.Target, test.target)
			}
			var last Moment
			if _, err := Play(t.Context(), s, Setting{Side: side, HPA: test.hpa}, Watch{
				Moment: func(m *Moment) { last = *m },
			}); err != nil {
				t.Fatal(err)
			}
			if last.Ready < last.Need*9/10 || last.Ready > last.Need*12/10 {
				t.Errorf("%s, %s: %d ready of the %d that the load asks for", name, side, last.Ready, last.Need)
			}
		}
	}
}

// TestSameSeedSameRun: a run is made of its seed alone.
func TestSameSeedSameRun(t *testing.T) {
	for _, side := range []Side{Upstream, Plimsoll} {
		run := func(seed uint64) *Run {
			s := sceneOf(t, "generated:batch")
			s.For, s.Seed = 90*time.Minute, seed
			return playOf(t, s, side)
		}
		a, b, other := run(1), run(1), run(2)
		if !reflect.DeepEqual(a.Score, b.Score) || !reflect.DeepEqual(a.Changes, b.Changes) {
			t.Errorf("%s: %+v and %+v", side, a.Score, b.Score)
		}
		if reflect.DeepEqual(a.Changes, other.Changes) {
			t.Errorf("%s: two seeds, one run", side)
		}
	}
}

// TestLoadsHaveTimesOfTheirOwn: with the same seed, loops decide on loads of different names at different times, and
// kubelets sample at different times. Where a trace is stored makes no difference.
func TestLoadsHaveTimesOfTheirOwn(t *testing.T) {
	first := func(side Side, name string) (decided, window time.Duration) {
		s := sceneOf(t, "poisson:20")
		s.Load.Name, s.For = name, time.Minute
		_, err := Play(t.Context(), s, Setting{Side: side, HPA: autoscaler(50, 2, 20)}, Watch{
			Decision: func(at time.Duration, o *horizontal.Observation, _ *horizontal.Decision) {
				for _, sample := range o.Readings[0].Samples {
					if window == 0 && sample.Present {
						decided, window = at, sample.Window
					}
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return decided, window
	}
	for _, side := range []Side{Upstream, Plimsoll} {
		decided, window := first(side, "traces/a.csv")
		if d, w := first(side, "elsewhere/a.csv"); d != decided || w != window {
			t.Errorf("%s: %v and %v depend on the folder", side, d, w)
		}
		if d, w := first(side, "traces/b.csv"); d == decided || w == window {
			t.Errorf("%s: decided at %v on a sample of %v for both loads", side, d, w)
		}
	}
}

// TestSameRequests: both sides meet the same requests.
func TestSameRequests(t *testing.T) {
	s := sceneOf(t, "generated:noisy")
	s.For = time.Hour
	if a, b := playOf(t, s, Upstream).Score, playOf(t, s, Plimsoll).Score; a.Requests == 0 ||
		a.Requests-b.Requests > 1e-3 || b.Requests-a.Requests > 1e-3 {
		t.Errorf("%v and %v requests", a.Requests, b.Requests)
	}
}

// TestPlimsollSeesASurgeFirst: what a sample every second is for, and what is left of it where kubelets
// sample pods every 10 to 20 s.
func TestPlimsollSeesASurgeFirst(t *testing.T) {
	for housekeeping, atMost := range map[time.Duration]time.Duration{
		0: 5 * time.Second, time.Second: 6 * time.Second, defaultHousekeeping: 22 * time.Second,
	} {
		first := map[Side]time.Duration{}
		for _, side := range []Side{Upstream, Plimsoll} {
			s := sceneOf(t, "step:10@0s,100@5m")
			s.For, s.Timing.Housekeeping = 8*time.Minute, housekeeping
			for _, c := range playOf(t, s, side).Changes {
				if c.At > 5*time.Minute && first[side] == 0 {
					first[side] = c.At - 5*time.Minute
				}
			}
		}
		if first[Plimsoll] == 0 || first[Plimsoll] > atMost || first[Upstream] < first[Plimsoll] {
			t.Errorf("housekeeping every %v: first scale-up after %v", housekeeping, first)
		}
	}
}

// TestHousekeepingErrors: intervals are refused with which Plimsoll would not read the kubelets.
func TestHousekeepingErrors(t *testing.T) {
	for _, housekeeping := range []time.Duration{-time.Second, time.Millisecond, 11 * time.Second} {
		s := sceneOf(t, "poisson:5")
		s.For, s.Timing.Housekeeping = time.Minute, housekeeping
		if _, err := Play(t.Context(), s, Setting{Side: Plimsoll, HPA: autoscaler(50, 2, 20)}, Watch{}); err == nil {
			t.Errorf("%v is played", housekeeping)
		}
	}
}

func TestPlayStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s := sceneOf(t, "generated:shop")
	if _, err := Play(ctx, s, Setting{Side: Upstream, HPA: autoscaler(50, 1, 5)}, Watch{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestAgentErrors: agents that read too often or too seldom are refused.
func TestAgentErrors(t *testing.T) {
	for agents, isGood := range map[time.Duration]bool{
		0: true, 250 * time.Millisecond: true, 100 * time.Millisecond: true, 10 * time.Second: true,
		99 * time.Millisecond: false, 11 * time.Second: false, -time.Second: false,
	} {
		s := sceneOf(t, "poisson:5")
		s.For, s.Timing.Plimsoll.Agents = time.Minute, agents
		_, err := Play(t.Context(), s, Setting{Side: Plimsoll, HPA: autoscaler(50, 2, 20)}, Watch{})
		if (err == nil) != isGood {
			t.Errorf("agents that read every %v: %v", agents, err)
		}
	}
}
