package metric_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestGroup checks each rule of grouping, in the order in which they apply.
func TestGroup(t *testing.T) {
	cpu := source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.AverageValue, Milli: 100},
	}
	memory := cpu
	memory.Name = "memory"
	podsCPU := cpu
	podsCPU.Type = source.Pods
	endpoint := cpu
	endpoint.Type = source.PodEndpoint
	container := cpu
	container.Type, container.Container = source.ContainerResource, "app"

	// started returns a ready pod of this age that became ready readyAfter its start.
	started := func(age, readyAfter time.Duration, ready metric.Readiness) metric.Pod {
		p := pod("a")
		p.StartTime, p.Ready = now.Add(-age), ready
		p.ReadyTransition = p.StartTime.Add(readyAfter)
		return p
	}
	change := func(f func(*metric.Pod)) metric.Pod {
		p := pod("a")
		f(&p)
		return p
	}
	sampledAt := func(age time.Duration) metric.Sample {
		s := sample(100)
		s.At = now.Add(-age)
		return s
	}
	short := func(age time.Duration) metric.Sample {
		s := sampledAt(age)
		s.Window = time.Second
		return s
	}
	none := metric.Sample{}

	for name, tt := range map[string]struct {
		reason string
		spec   source.Spec
		pod    metric.Pod
		sample metric.Sample
		set    divergence.Set
		want   metric.Group
	}{
		"running and ready": {
			"the ordinary case", cpu, pod("a"), sample(100), divergence.None, metric.Counted,
		},
		"being deleted": {
			"its load goes elsewhere soon", cpu, change(func(p *metric.Pod) { p.Deleting = true }),
			sample(100), divergence.None, metric.Ignored,
		},
		"being deleted while pending": {
			"deletion is asked before the phase", cpu,
			change(func(p *metric.Pod) { p.Deleting, p.Phase = true, metric.PhasePending }), none, divergence.None,
			metric.Ignored,
		},
		"failed": {
			"it takes no load", cpu, change(func(p *metric.Pod) { p.Phase = metric.PhaseFailed }),
			sample(100), divergence.None, metric.Ignored,
		},
		"succeeded": {
			"it has finished and takes no load", cpu, change(func(p *metric.Pod) { p.Phase = metric.PhaseSucceeded }),
			none, divergence.SucceededPods, metric.Ignored,
		},
		"succeeded, as upstream": {
			"upstream waits for a value that will never come", cpu,
			change(func(p *metric.Pod) { p.Phase = metric.PhaseSucceeded }), none, divergence.None, metric.Missing,
		},
		"succeeded with a late sample, as upstream": {
			"upstream counts it", memory,
			change(func(p *metric.Pod) { p.Phase = metric.PhaseSucceeded }), sample(1), divergence.None, metric.Counted,
		},
		"pending": {
			"it will take load soon", cpu, change(func(p *metric.Pod) { p.Phase = metric.PhasePending }),
			none, divergence.None, metric.Unready,
		},
		"pending with a sample": {
			"the phase is asked before the sample", memory, change(func(p *metric.Pod) { p.Phase = metric.PhasePending }),
			sample(100), divergence.None, metric.Unready,
		},
		"phase unknown": {
			"a phase that says nothing is no reason to leave a sample out", cpu,
			change(func(p *metric.Pod) { p.Phase = metric.PhaseUnknown }), sample(100), divergence.None, metric.Counted,
		},
		"no sample": {
			"missing data is never zero", cpu, pod("a"), none, divergence.None, metric.Missing,
		},
		"no sample and not ready": {
			"the sample is asked before readiness", cpu, started(time.Minute, 0, metric.ReadyFalse), none, divergence.None,
			metric.Missing,
		},
		"cpu without a Ready condition": {
			"it is unknown whether it works yet", cpu, change(func(p *metric.Pod) { p.Ready = metric.NoReadiness }),
			sample(100), divergence.None, metric.Unready,
		},
		"cpu without a start time": {
			"the kubelet has not seen it", cpu, change(func(p *metric.Pod) { p.StartTime = time.Time{} }),
			sample(100), divergence.None, metric.Unready,
		},
		"cpu, young and not ready": {
			"within the initialization period an unready pod shows its start", cpu,
			started(initialization-1, 0, metric.ReadyFalse), sample(100), divergence.None, metric.Unready,
		},
		"cpu, young, the window reaches back before readiness": {
			"a part of the value is the start", cpu, started(2*time.Minute, time.Minute+1, metric.ReadyTrue),
			sampledAt(0), divergence.None, metric.Unready,
		},
		"cpu, young, a whole window after readiness": {
			"exactly one window is enough", cpu, started(2*time.Minute, time.Minute, metric.ReadyTrue),
			sampledAt(0), divergence.None, metric.Counted,
		},
		"cpu, young, a window of a second, just ready": {
			"the others' averages reach back to when they had its part of the load", cpu,
			started(time.Minute, time.Minute-5*time.Second+1, metric.ReadyTrue), short(0), divergence.RecentlyReady,
			metric.Unready,
		},
		"cpu, young, a window of a second, ready for five": {
			"the others' windows begin with it from now on", cpu,
			started(time.Minute, time.Minute-5*time.Second, metric.ReadyTrue), short(0), divergence.RecentlyReady,
			metric.Counted,
		},
		"cpu, young, a window of a second, just ready, as upstream": {
			"exactly one window is enough", cpu, started(time.Minute, time.Minute-time.Second, metric.ReadyTrue), short(0),
			divergence.None, metric.Counted,
		},
		"cpu, young, readiness unknown": {
			"only False is unready", cpu, started(2*time.Minute, time.Minute, metric.ReadyUnknown),
			sampledAt(0), divergence.None, metric.Counted,
		},
		"cpu, exactly as old as the initialization period": {
			"the period is over: this pod was ready once", cpu, started(initialization, time.Minute, metric.ReadyFalse),
			sample(100), divergence.None, metric.Counted,
		},
		"cpu, old, the window reaches back before readiness": {
			"after the period the window does not matter", cpu, started(initialization, initialization, metric.ReadyTrue),
			sample(100), divergence.None, metric.Counted,
		},
		"cpu, old, never ready": {
			"not ready since less than the readiness delay after its start: it never was", cpu,
			started(time.Hour, readinessDelay-1, metric.ReadyFalse), sample(100), divergence.None, metric.Unready,
		},
		"cpu, old, unready since exactly the delay after its start": {
			"it must have been ready in between", cpu,
			started(time.Hour, readinessDelay, metric.ReadyFalse), sample(100), divergence.None, metric.Counted,
		},
		"container cpu, old, never ready": {
			"a container's cpu starts like a pod's", container,
			started(time.Hour, 0, metric.ReadyFalse), sample(100), divergence.None, metric.Unready,
		},
		"memory, never ready": {
			"memory does not calm down after the start: readiness is not asked", memory,
			started(time.Hour, 0, metric.ReadyFalse), sample(100), divergence.None, metric.Counted,
		},
		"memory without a Ready condition": {
			"readiness is not asked", memory, change(func(p *metric.Pod) { p.Ready = metric.NoReadiness }),
			sample(100), divergence.None, metric.Counted,
		},
		"a Pods metric named cpu, never ready": {
			"the name of a custom metric means nothing", podsCPU,
			started(time.Hour, 0, metric.ReadyFalse), sample(100), divergence.None, metric.Counted,
		},
		"an endpoint, young, the window reaches back before readiness": {
			"it had no traffic then", endpoint, started(2*time.Minute, time.Minute+1, metric.ReadyTrue),
			sampledAt(0), divergence.None, metric.Unready,
		},
		"an endpoint that was not asked": {
			"it is not silent", endpoint, pod("a"), metric.Sample{Unsampled: true}, divergence.None, metric.Unsampled,
		},
		"an endpoint that was not asked, of a pending pod": {
			"the phase is asked before the sample", endpoint,
			change(func(p *metric.Pod) { p.Phase = metric.PhasePending }), metric.Sample{Unsampled: true}, divergence.None,
			metric.Unready,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{
				spec: tt.spec, pods: []metric.Pod{tt.pod}, current: 1, existing: 1, set: tt.set,
				reading: metric.Reading{Samples: []metric.Sample{tt.sample}},
			}
			r := s.evaluate()
			if len(r.Groups) != 1 || r.Groups[0] != tt.want {
				t.Errorf("groups %v, want %v: %s", r.Groups, tt.want, tt.reason)
			}
		})
	}
}

func TestGroupLacking(t *testing.T) {
	spec := utilization(50)
	spec.Type, spec.Container = source.ContainerResource, "app"
	absent := metric.Request{Missing: metric.ContainerNotFound, Container: "app"}
	scene := func() scene {
		s := running(spec, 1000, 1000, 0).asking(2, absent)
		s.reading.Samples[2] = metric.Sample{}
		return s
	}
	t.Run("a part of the pods has the container", func(t *testing.T) {
		r := scene().with(divergence.PartialContainer).at(2, 3).evaluate()
		want := metric.Counts{Counted: 2, Lacking: 1}
		if diff := cmp.Diff(want, r.Counts); diff != "" {
			t.Errorf("the pod without the container is set aside (-want +got):\n%s", diff)
		}
		if r.Replicas != 4 || r.Verdict != metric.Scaled {
			t.Errorf("got %d, %v: the two pods with the container use twice their target", r.Replicas, r.Verdict)
		}
	})
	t.Run("they do not turn the direction", func(t *testing.T) {
		r := scene().with(divergence.PartialContainer).at(5, 5).evaluate()
		if r.Replicas != 5 || r.Verdict != metric.DirectionKept {
			t.Errorf("got %d, %v: 2 pods × 2 = 4 would be fewer although the load is above its target", r.Replicas, r.Verdict)
		}
	})
	t.Run("a deleted pod without the container stays ignored", func(t *testing.T) {
		s := scene().with(divergence.PartialContainer)
		s.pods[2].Deleting = true
		if r := s.evaluate(); r.Groups[2] != metric.Ignored {
			t.Errorf("got %v: whether it has the container does not matter any more", r.Groups[2])
		}
	})
	t.Run("as upstream", func(t *testing.T) {
		r := scene().with(divergence.None).evaluate()
		if r.Failure == nil || r.Failure.Message != "failed to get memory utilization: container app not found in Pod c" {
			t.Errorf("got %+v: one pod without the container fails the metric", r.Failure)
		}
	})
	t.Run("no pod has the container", func(t *testing.T) {
		r := scene().with(divergence.Default).asking(0, absent).asking(1, absent).evaluate()
		if r.Failure == nil || r.Failure.Message != "failed to get memory utilization: container app not found in Pod a" {
			t.Errorf("got %+v: a container that no pod has is a mistake in the HPA", r.Failure)
		}
	})
}

func TestGroupNames(t *testing.T) {
	want := map[metric.Group]string{
		metric.Counted: "counted", metric.Ignored: "ignored", metric.Unready: "unready",
		metric.Missing: "missing", metric.Lacking: "without the container",
		metric.Unsampled: "not sampled",
	}
	for g, name := range want {
		if g.String() != name {
			t.Errorf("group %d is called %q, want %q", g, g, name)
		}
	}
}
