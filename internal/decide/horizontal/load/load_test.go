package load_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/load"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// scene is a target with pods and metrics.
type scene struct {
	specs    []source.Spec
	readings []metric.Reading
	pods     []metric.Pod
	current  int32
}

// pod describes a pod of a scene.
type pod struct {
	metric.Pod
	// cpu is its usage in milli-cores; negative if it has no sample.
	cpu int64
}

func ready(cpu int64) pod {
	return pod{metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: noon.Add(-time.Hour),
		ReadyTransition: noon.Add(-time.Hour)}, cpu}
}

// starting returns a pod that uses CPU and is not ready.
func starting(cpu int64) pod {
	p := ready(cpu)
	p.Ready, p.StartTime, p.ReadyTransition = metric.ReadyFalse, noon.Add(-10*time.Second), noon.Add(-10*time.Second)
	return p
}

func unready(cpu int64) pod {
	p := ready(cpu)
	p.Ready, p.ReadyTransition = metric.ReadyFalse, noon.Add(-10*time.Second)
	return p
}

func deleting(cpu int64) pod {
	p := ready(cpu)
	p.Deleting = true
	return p
}

const none = -1

// cpuOf returns a target whose pods request a core each, with a target utilization in percent.
func cpuOf(percent int32, pods ...pod) scene {
	s := scene{current: int32(len(pods))}
	r := metric.Reading{}
	for _, p := range pods {
		s.pods = append(s.pods, p.Pod)
		sample := metric.Sample{Present: p.cpu >= 0, Milli: max(0, p.cpu), At: noon, Window: 15 * time.Second}
		r.Samples, r.Requests = append(r.Samples, sample), append(r.Requests, metric.Request{Milli: 1000})
	}
	s.readings = []metric.Reading{r}
	s.specs = []source.Spec{{Type: source.Resource, Name: source.CPU,
		Target: source.Target{Type: source.Utilization, Percent: percent}}}
	return s
}

// and returns the scene with another metric.
func (s scene) and(spec source.Spec, r metric.Reading) scene {
	s.specs, s.readings = append(s.specs, spec), append(s.readings, r)
	return s
}

func queue(kind source.TargetType, target, length int64) (source.Spec, metric.Reading) {
	return source.Spec{Type: source.External, Name: "queue", Target: source.Target{Type: kind, Milli: target}},
		metric.Reading{Series: []int64{length}, At: noon}
}

func (s *scene) input() *load.Input {
	c := metric.Context{
		Now: noon, SpecReplicas: s.current, StatusReplicas: s.current, Pods: s.pods,
		Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, CPUInitializationPeriod: 5 * time.Minute,
		InitialReadinessDelay: 30 * time.Second, Divergences: divergence.Default,
	}
	in := &load.Input{Specs: s.specs, Readings: s.readings, Pods: s.pods, Current: s.current,
		Results: make([]metric.Result, len(s.specs))}
	for i := range s.specs {
		metric.Evaluate(&s.specs[i], &s.readings[i], &c, &in.Results[i])
	}
	return in
}

func (s *scene) load() forecast.Load { return load.Of(s.input()) }

func of(pods, perPod, full float64, isCapped bool) forecast.Load {
	return forecast.Load{IsKnown: true, Pods: pods, PerPodMilli: perPod, Full: full, IsCapped: isCapped}
}

func TestLoad(t *testing.T) {
	unknown := forecast.Load{}
	whole := func() scene { return cpuOf(50, ready(500), ready(500), ready(500), ready(500)) }
	alone := func(spec source.Spec, r metric.Reading) scene {
		s := whole()
		s.specs, s.readings = []source.Spec{spec}, []metric.Reading{r}
		return s
	}
	zero := alone(queue(source.AverageValue, 5000, 40_000))
	zero.current = 0
	many := cpuOf(50, ready(500), ready(500), ready(500), ready(500))
	for i := 1; i < 4; i++ {
		many.readings[0].Samples[i] = metric.Sample{Unsampled: true}
	}
	smaller := whole()
	smaller.readings[0].Requests[0].Milli = 500
	failed := metric.Reading{Error: "503"}
	spec, _ := queue(source.AverageValue, 5000, 0)
	for name, c := range map[string]struct {
		reason string
		scene  scene
		want   forecast.Load
	}{
		"at the target": {"4 pods use what 4 shall", whole(), of(4, 500, 2, false)},
		"half of it":    {"2 pods would carry it", cpuOf(50, ready(250), ready(250), ready(250), ready(250)), of(2, 500, 2, false)},
		"within the tolerance": {"a replica count would stay, the load is another",
			cpuOf(50, ready(540), ready(540)), of(2.16, 500, 2, false)},
		"full": {"the pods use all of their requests: nobody knows how much more they would",
			cpuOf(50, ready(1000), ready(1000)), of(4, 500, 2, true)},
		"a target above the request": {"pods may use more than they request, here they shall",
			cpuOf(120, ready(1200), ready(1200)), of(2, 1200, 0, false)},
		"one of four has no sample": {"it is taken to be as the others", cpuOf(50, ready(500), ready(500), ready(500), ready(none)),
			of(4, 500, 2, false)},
		"two of four have none":   {"half of them stand for all", cpuOf(50, ready(500), ready(500), ready(none), ready(none)), of(4, 500, 2, false)},
		"three of four have none": {"one does not", cpuOf(50, ready(500), ready(none), ready(none), ready(none)), unknown},
		"none has one":            {"missing is not zero", cpuOf(50, ready(none), ready(none)), unknown},
		"pods that start": {"what they use is their start", cpuOf(50, ready(500), ready(500), starting(900), starting(900)),
			of(2, 500, 2, false)},
		"only pods that start":     {"there is no load to see yet", cpuOf(50, starting(900), starting(900)), unknown},
		"pods that are going":      {"the others have taken over", cpuOf(50, ready(500), ready(500), deleting(500)), of(2, 500, 2, false)},
		"an overloaded pod":        {"it is not ready, but works", cpuOf(50, ready(1000), unready(1000)), of(4, 500, 2, true)},
		"unready without sample":   {"no load is on it", cpuOf(50, ready(500), unready(none)), of(1, 500, 2, false)},
		"pods that were not asked": {"the one that was stands for all", many, of(4, 500, 2, false)},
		"a smaller request":        {"3.5 cores are requested, and 2 used: 57 %, a target of 437.5 on average", smaller, of(4.56, 437.5, 2, false)},
		"a queue for each pod":     {"40 entries, 5 for each pod", alone(queue(source.AverageValue, 5000, 40_000)), of(8, 5000, 0, false)},
		"a queue in total":         {"twice the target: twice the pods that are ready", alone(queue(source.Value, 5000, 10_000)), of(8, 5000, 0, false)},
		"an empty queue":           {"no load is a load that is known", alone(queue(source.AverageValue, 5000, 0)), of(0, 5000, 0, false)},
		"no replicas":              {"nothing is forecast there", zero, unknown},
		"the queue leads":          {"the larger of the two; its target is no measure where another may lead", whole().and(queue(source.AverageValue, 5000, 40_000)), of(8, 0, 0, false)},
		"CPU leads":                {"CPU says how much a pod can carry", whole().and(queue(source.AverageValue, 5000, 5000)), of(4, 0, 2, false)},
		"another is full":          {"that the CPU is used up counts whatever leads", cpuOf(50, ready(1000)).and(queue(source.AverageValue, 5000, 40_000)), of(8, 0, 0, true)},
		"one of two fails":         {"it may be the larger one", whole().and(spec, failed), unknown},
		"one of two is awaited":    {"so may this", whole().and(spec, metric.Reading{Pending: true}), unknown},
		"no metrics":               {"schedules alone are no load", scene{current: 3}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.scene.load(), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// With a target of zero or a ratio that is no number, the load is unknown instead of infinite.
func TestLoadIsBounded(t *testing.T) {
	for name, r := range map[string]metric.Result{
		"NaN":       {Ratio: math.NaN(), Counts: metric.Counts{Counted: 1}},
		"endless":   {Ratio: math.Inf(1), Counts: metric.Counts{Counted: 1}},
		"below 0":   {Ratio: -1, Counts: metric.Counts{Counted: 1}},
		"much load": {Ratio: 1e300, Counts: metric.Counts{Counted: 1}},
	} {
		s := cpuOf(50, ready(500))
		in := s.input()
		in.Results[0] = r
		in.Results[0].Groups = []metric.Group{metric.Counted}
		got := load.Of(in)
		if isLarge := name == "much load"; got.IsKnown != isLarge || got.Pods > math.MaxInt32 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	spec, r := queue(source.AverageValue, 0, 5000)
	s := cpuOf(50, ready(500))
	s.specs, s.readings = []source.Spec{spec}, []metric.Reading{r}
	if got := s.load(); got.IsKnown {
		t.Errorf("a target of 0 makes a load of %+v", got)
	}
}

// TestLoadOfCPU compares with the definition: the usage of the pods that carry the load, divided by a pod's target.
func TestLoadOfCPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.Int32Range(10, 99).Draw(t, "target")
		pods := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pod {
			pod := rapid.SampledFrom([]func(int64) pod{ready, ready, ready, unready, starting, deleting}).Draw(t, "pod")
			return pod(rapid.Int64Range(none, 1500).Draw(t, "CPU"))
		}), 1, 12).Draw(t, "pods")
		used, sampled, missing := int64(0), 0, 0
		for _, p := range pods {
			isStarting := p.Ready == metric.ReadyFalse && p.StartTime.After(noon.Add(-5*time.Minute))
			switch {
			case p.Deleting, isStarting:
			case p.cpu >= 0:
				used, sampled = used+p.cpu, sampled+1
			case p.Ready == metric.ReadyTrue:
				missing++
			}
		}
		s := cpuOf(percent, pods...)
		got := s.load()
		if isKnown := sampled > 0 && missing <= sampled; got.IsKnown != isKnown {
			t.Fatalf("known: %t with %d samples, %d missing", got.IsKnown, sampled, missing)
		} else if !isKnown {
			return
		}
		// Utilization is truncated to a whole percentage.
		mean := math.Floor(float64(used) / float64(sampled) / 10)
		if want := mean / float64(percent) * float64(sampled+missing); math.Abs(got.Pods-want) > 1e-9 {
			t.Errorf("%g pods, want %g", got.Pods, want)
		}
	})
}
