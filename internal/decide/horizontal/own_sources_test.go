package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// TestEndpointsOfAllPods: if all pods are in the sample, a metric of the pods' endpoints leads to the same decision and
// history, bit for bit, as a Pods metric with the same values.
func TestEndpointsOfAllPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := making(t)
		m.isHPA = true
		s := m.situation()
		s.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
		// Only one of the two has intervals for the surge window and counts the start-up of pods.
		s.policy.Surge = surge.Settings{}
		s.policy.MinReplicas = max(1, s.policy.MinReplicas)
		for i := range s.observation.Pods {
			p := &s.observation.Pods[i]
			p.Ready, p.StartTime, p.ReadyTransition = metric.ReadyTrue, noon.Add(-time.Hour), noon.Add(-time.Hour)
		}
		for i := range s.policy.Metrics {
			if spec := &s.policy.Metrics[i]; spec.IsPerPod() {
				spec.Type, spec.Name, spec.Target.Type = source.Pods, "requests", source.AverageValue
				s.observation.Readings[i].Requests = nil
			}
		}
		want, before := s.decide()
		for i := range s.policy.Metrics {
			if spec := &s.policy.Metrics[i]; spec.Type == source.Pods {
				spec.Type = source.PodEndpoint
			}
		}
		got, after := s.decide()
		if diff := cmp.Diff(want.Metrics, got.Metrics, cmp.Comparer(sameFailure), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("(-Pods +PodEndpoint):\n%s", diff)
		}
		if want.Desired != got.Desired || want.Proposed != got.Proposed || want.Stabilized != got.Stabilized ||
			want.Limited != got.Limited || want.Branch != got.Branch {
			t.Fatalf("%+v\n%+v", want, got)
		}
		if diff := cmp.Diff(before, after, remembered); diff != "" {
			t.Fatalf("remembers otherwise (-Pods +PodEndpoint):\n%s", diff)
		}
	})
}

// The texts name the source, so that they differ.
func sameFailure(a, b *source.Failure) bool { return (a == nil) == (b == nil) }

// outages has a constant load, and metrics of it whose reading often fails.
type outages struct {
	maker
	policy horizontal.Policy
	total  int64
}

// observe returns an observation of the load at a replica count.
func (l *outages) observe(current int32) horizontal.Observation {
	o := see(current)
	for range current {
		o.Pods = append(o.Pods, metric.Pod{
			Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: noon.Add(-time.Hour),
			ReadyTransition: noon.Add(-time.Hour),
		})
	}
	for i := range l.policy.Metrics {
		o.Readings = append(o.Readings, l.reading(&l.policy.Metrics[i], current))
	}
	return o
}

func (l *outages) reading(spec *source.Spec, current int32) metric.Reading {
	r := metric.Reading{Activity: metric.Active, TargetMilli: spec.Target.Milli}
	switch l.pick("outage", 0, 9) {
	case 7:
		r.Error = "down"
		return r
	case 8:
		r.Pending = true
		return r
	case 9:
		r.Empty = true
		return r
	}
	if spec.Type != source.PodEndpoint {
		r.Series = []int64{l.total}
		return r
	}
	for range current {
		one := metric.Sample{Present: true, Milli: l.total / int64(current)}
		switch l.pick("pod", 0, 7) {
		case 5:
			one = metric.Sample{}
		case 6, 7:
			one = metric.Sample{Unsampled: true}
		}
		r.Samples = append(r.Samples, one)
	}
	return r
}

// TestFlappingSourcesDoNotFlapTheTarget: under a constant load, sources that fail and recover, pods without values at
// times and changing samples of pods never reverse a change of the replica count, and never lead to zero.
func TestFlappingSourcesDoNotFlapTheTarget(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		l := outages{maker: making(t), policy: policy(0, 100)}
		l.policy.DownscaleStabilization, l.policy.Tolerance = 0, metric.Tolerance{Up: 0.1, Down: 0.1}
		l.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: time.Second}}
		wanted := l.pick("wanted", 1, 40)
		l.total = wanted * 1000
		kinds := []source.Type{source.PodEndpoint, source.Prometheus, source.ExternalScaler}
		for range l.pick("metrics", 1, 3) {
			spec := source.Spec{
				Type: kinds[l.pick("kind", 0, 2)], Name: "requests", Identity: "1",
				Target: source.Target{Type: source.AverageValue, Milli: 1000},
			}
			l.policy.Metrics = append(l.policy.Metrics, spec)
		}
		var s horizontal.State
		now, first := noon, int32(l.pick("current", 1, 60))
		current, isRising := first, int64(first) < wanted
		for range 30 {
			now = now.Add(l.duration("later", time.Minute))
			o := l.observe(current)
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &l.policy, s, &o)
			s = horizontal.Settle(s, horizontal.Outcome{At: now})
			if d.Desired == 0 || isRising && d.Desired < current || !isRising && d.Desired > current {
				t.Fatalf("%v: from %d to %d, began with %d, the load takes %d: %+v", now.Sub(noon), current, d.Desired, first,
					wanted, d.Metrics)
			}
			if d.Desired != current {
				moved++
			}
			current = d.Desired
		}
	})
	if moved == 0 {
		t.Error("no count moved: that proves nothing")
	}
}
