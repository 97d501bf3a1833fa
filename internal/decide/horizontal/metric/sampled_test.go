package metric_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// unsampled adds pods outside the sample.
func (s scene) unsampled(pods int) scene {
	for range pods {
		s = s.add(pod("unsampled"), metric.Sample{Unsampled: true}, 0)
	}
	return s
}

// starting adds pods outside the sample that are not ready, or not for long.
func (s scene) starting(pods int, readyFor time.Duration) scene {
	for range pods {
		p := pod("starting")
		p.StartTime, p.ReadyTransition = now.Add(-10*time.Second), now.Add(-readyFor)
		if readyFor == 0 {
			p.Ready = metric.ReadyFalse
		}
		s = s.add(p, metric.Sample{Unsampled: true}, 0)
	}
	return s
}

// unreadyAgain adds running pods that were ready for long, and are not ready now.
func (s scene) unreadyAgain(pods int) scene {
	for range pods {
		p := pod("overloaded")
		p.Ready, p.StartTime, p.ReadyTransition = metric.ReadyFalse, now.Add(-time.Hour), now.Add(-time.Minute)
		s = s.add(p, metric.Sample{Unsampled: true}, 0)
	}
	return s
}

// TestSampled: the pods of the sample represent all pods.
func TestSampled(t *testing.T) {
	rps := averageOf(source.PodEndpoint, 100)
	check(t, map[string]row{
		"twice the target": {
			"2 of 20 pods use twice their target: 40", running(rps, 200, 200).unsampled(18),
			outcome{40, metric.Scaled, 20, 0, 200},
		},
		"half the target": {
			"2 of 20 pods use half of their target: 10", running(rps, 50, 50).unsampled(18),
			outcome{10, metric.Scaled, 20, 0, 50},
		},
		"at the target": {
			"nothing changes", running(rps, 100, 105).unsampled(18),
			outcome{20, metric.WithinTolerance, 0, 0, 102},
		},
		"a silent pod of the sample, on the way up": {
			"it uses nothing: (300+0)/2 of 20", running(rps, 300).missing(0).unsampled(18),
			outcome{30, metric.Recomputed, 20, 0, 300},
		},
		"a silent pod of the sample, on the way down": {
			"it uses its target: (20+100)/2 of 20", running(rps, 20).missing(0).unsampled(18),
			outcome{12, metric.Recomputed, 20, 0, 20},
		},
		"pods that are not ready": {
			"8 pods use 1600; 4 more are starting: 1600/12 each", running(rps, 200, 200).unsampled(6).starting(4, 0).at(12, 12),
			outcome{16, metric.Recomputed, 12, 0, 200},
		},
		"pods that are not ready any more": {
			"the other 8 have their load, 1600", running(rps, 200, 200).unsampled(6).unreadyAgain(4).at(12, 12),
			outcome{16, metric.Recomputed, 12, 0, 200},
		},
		"pods that are not ready any more, on the way down": {
			"the other 8 have all of the load, 400", running(rps, 50, 50).unsampled(6).unreadyAgain(4).at(12, 12),
			outcome{4, metric.Scaled, 8, 0, 50},
		},
		"as many pods as it takes are on their way": {
			"1600/16 each is the target", running(rps, 200, 200).unsampled(6).starting(8, 0).at(16, 16),
			outcome{16, metric.WithinTolerance, 0, 0, 200},
		},
		"one of them without a page": {
			"(200+0)/2 of 8 pods is 800, for 12 pods", running(rps, 200).missing(0).unsampled(6).starting(4, 0).at(12, 12),
			outcome{12, metric.DirectionKept, 0, 0, 200},
		},
		"pods that are not ready, on the way down": {
			"8 pods use 400, and the others nothing", running(rps, 50, 50).unsampled(6).starting(4, 0).at(12, 12),
			outcome{4, metric.Scaled, 8, 0, 50},
		},
		"ready for 4 s": {
			"they do not count yet", running(rps, 200, 200).unsampled(6).starting(8, 4*time.Second).at(16, 16),
			outcome{16, metric.WithinTolerance, 0, 0, 200},
		},
		"ready for 5 s": {
			"they have taken over their part", running(rps, 100, 100).unsampled(6).starting(8, 5*time.Second).at(16, 16),
			outcome{16, metric.WithinTolerance, 0, 0, 100},
		},
		"more pods than wanted": {
			"those of a rollout are not multiplied", running(rps, 200, 200).unsampled(2).at(3, 4),
			outcome{6, metric.Scaled, 3, 0, 200},
		},
	})
	r := running(rps, 200).unsampled(3).pending(0).evaluate()
	if diff := cmp.Diff(metric.Counts{Counted: 1, Unready: 1, Unsampled: 3}, r.Counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r = running(rps).unsampled(3).evaluate(); r.Failure == nil {
		t.Errorf("%+v was computed from no sample", outcomeOf(r))
	}
}

// TestSharedTarget: one target applies to all pods together.
func TestSharedTarget(t *testing.T) {
	all := valueOf(source.PodEndpoint, 1000)
	check(t, map[string]row{
		"above": {
			"2 × 750 is 1.5 times the value", running(all, 750, 750), outcome{3, metric.Scaled, 2, 0, 1500},
		},
		"at the value": {
			"4 × 250", running(all, 250, 250, 250, 250), outcome{4, metric.WithinTolerance, 0, 0, 1000},
		},
		"sampled": {
			"2 of 10 pods use 200 each: 2000 in all", running(all, 200, 200).unsampled(8),
			outcome{20, metric.Scaled, 10, 0, 2000},
		},
		"a silent pod, on the way down": {
			"it uses its part of the value, 250: (3×50+250)/4", running(all, 50, 50, 50).missing(0),
			outcome{2, metric.Recomputed, 4, 0, 200},
		},
		"a pod on its way out": {
			"it has no part in the value", deleting(running(all, 500, 500, 500), 2).at(2, 3),
			outcome{2, metric.WithinTolerance, 0, 0, 1000},
		},
	})
}

// TestOwnTarget: the reading has the target.
func TestOwnTarget(t *testing.T) {
	own := func(spec source.Spec, target int64) scene {
		s := total(spec, 2, 500, 100)
		s.spec.IsOwnTarget, s.spec.Target.Milli, s.reading.TargetMilli = true, 7, target
		return s
	}
	check(t, map[string]row{
		"for each replica": {
			"600 / 100", own(averageOf(source.ExternalScaler, 0), 100), outcome{6, metric.Scaled, 0, 0, 300},
		},
		"for all": {
			"2 pods × 600/300", own(valueOf(source.ExternalScaler, 0), 300), outcome{4, metric.Scaled, 2, 0, 600},
		},
	})
	if r := own(averageOf(source.ExternalScaler, 0), 100).evaluate(); r.TargetMilli != 100 {
		t.Errorf("the result says a target of %dm", r.TargetMilli)
	}
	for _, target := range []int64{0, -1} {
		r := own(averageOf(source.ExternalScaler, 0), target).evaluate()
		if r.Failure == nil || r.Failure.Message != "unable to get external scaler metric rps: the reading has no target" {
			t.Errorf("a target of %d: %+v", target, r.Failure)
		}
	}
}

// TestActivityStays: whether a scaler is active does not depend on its value.
func TestActivityStays(t *testing.T) {
	spec := averageOf(source.ExternalScaler, 100)
	for name, reading := range map[string]metric.Reading{
		"value": {Series: []int64{1}}, "failed": {Error: "down"}, "awaited": {Pending: true}, "empty": {Empty: true},
	} {
		reading.Activity = metric.Active
		if r := failing(total(spec, 1, 1), reading).evaluate(); r.Activity != metric.Active {
			t.Errorf("%s: it is %v", name, r.Activity)
		}
	}
}

// TestFailuresOfOwnSources checks the messages of the sources that Plimsoll reads itself.
func TestFailuresOfOwnSources(t *testing.T) {
	for kind, want := range map[source.Type]source.Failure{
		source.PodEndpoint: {
			Reason:  "FailedGetPodEndpointMetric",
			Message: "unable to get pod endpoint metric rps: unable to fetch metrics from the pods: boom",
			Error: "failed to get pod endpoint metric value: unable to get pod endpoint metric rps: unable to fetch metrics " +
				"from the pods: boom",
		},
		source.Prometheus: {
			Reason:  "FailedGetPrometheusMetric",
			Message: "unable to get Prometheus query rps: unable to fetch metrics from Prometheus: boom",
			Error: "failed to get Prometheus metric value: unable to get Prometheus query rps: unable to fetch metrics from " +
				"Prometheus: boom",
		},
		source.ExternalScaler: {
			Reason:  "FailedGetExternalScalerMetric",
			Message: "unable to get external scaler metric rps: unable to fetch metrics from the external scaler: boom",
			Error: "failed to get external scaler metric value: unable to get external scaler metric rps: unable to fetch " +
				"metrics from the external scaler: boom",
		},
	} {
		r := failing(running(averageOf(kind, 100), 1), metric.Reading{Error: "boom"}).evaluate()
		if r.Failure == nil {
			t.Errorf("%s was computed", kind)
		} else if diff := cmp.Diff(want, *r.Failure); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestOnlyUnsampledPodsDiffer: if all pods are in the sample, a metric of their endpoints has the result of a Pods
// metric. A pod with a sample counts although it is marked as unsampled.
func TestOnlyUnsampledPodsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		s.spec.Type = source.Pods
		want := s.evaluate()
		s.spec.Type = source.PodEndpoint
		for i := range s.reading.Samples {
			s.reading.Samples[i].Unsampled = s.reading.Samples[i].Present && rapid.Bool().Draw(t, "unsampled")
		}
		got := s.evaluate()
		if (want.Failure == nil) != (got.Failure == nil) {
			t.Fatalf("%+v, %+v", want.Failure, got.Failure)
		}
		want.Failure, got.Failure = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-pods +endpoints):\n%s", diff)
		}
	})
}

// TestSampleOfEqualPods: if all pods are alike, any sample of them has the result of all.
func TestSampleOfEqualPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := averageOf(source.PodEndpoint, rapid.Int64Range(1, 1000).Draw(t, "target"))
		if rapid.Bool().Draw(t, "shared") {
			spec.Target.Type = source.Value
		}
		value, pods := rapid.Int64Range(0, 3000).Draw(t, "value"), rapid.IntRange(1, 30).Draw(t, "pods")
		values := make([]int64, pods)
		for i := range values {
			values[i] = value
		}
		current := rapid.Int32Range(1, 40).Draw(t, "current")
		all := running(spec, values...).at(current, int32(pods)).evaluate()
		sampled := rapid.IntRange(1, pods).Draw(t, "sampled")
		part := running(spec, values[:sampled]...).unsampled(pods-sampled).at(current, int32(pods)).evaluate()
		if diff := cmp.Diff(outcomeOf(all), outcomeOf(part)); diff != "" {
			t.Fatalf("%d of %d pods (-all +sampled):\n%s", sampled, pods, diff)
		}
	})
}

// TestStartingBesideASample: pods that are not ready have the same effect as if all pods were in the sample, apart from
// the rounding of averages.
func TestStartingBesideASample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := averageOf(source.PodEndpoint, rapid.Int64Range(1000, 5000).Draw(t, "target"))
		value, pods := rapid.Int64Range(0, 20_000).Draw(t, "value"), rapid.IntRange(2, 20).Draw(t, "pods")
		starting, sampled := rapid.IntRange(0, 20).Draw(t, "starting"), rapid.IntRange(1, pods-1).Draw(t, "sampled")
		values := make([]int64, pods)
		for i := range values {
			values[i] = value
		}
		n := int32(pods + starting)
		all := running(spec, values...)
		for range starting {
			all = all.pending(0)
		}
		want := all.at(n, n).evaluate()
		got := running(spec, values[:sampled]...).unsampled(pods-sampled).starting(starting, 0).at(n, n).evaluate()
		if diff := got.Replicas - want.Replicas; diff < -1 || diff > 1 || got.Verdict != want.Verdict {
			t.Fatalf("%+v of all, %+v of %d", outcomeOf(want), outcomeOf(got), sampled)
		}
	})
}

// draw returns a scene of pods that count, lack a sample or terminate.
func draw(t *rapid.T) scene {
	s := running(averageOf(source.Pods, rapid.Int64Range(1, 1000).Draw(t, "target")))
	for range rapid.IntRange(0, 8).Draw(t, "pods") {
		p, v := pod("web"), metric.Sample{}
		p.Deleting = rapid.IntRange(0, 4).Draw(t, "deleting") == 0
		p.Phase = rapid.SampledFrom([]metric.Phase{metric.PhaseRunning, metric.PhaseRunning, metric.PhasePending,
			metric.PhaseSucceeded}).Draw(t, "phase")
		if rapid.IntRange(0, 3).Draw(t, "missing") > 0 {
			v = sample(rapid.OneOf(rapid.Int64Range(0, 3000), rapid.Int64()).Draw(t, "value"))
		}
		s = s.add(p, v, 0)
	}
	s.set = rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences")
	return s.at(rapid.Int32Range(0, 20).Draw(t, "current"), rapid.Int32Range(0, 20).Draw(t, "existing"))
}
