package fallback_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var (
	read    = metric.Result{Replicas: 3}
	broken  = metric.Result{Failure: &source.Failure{}}
	awaited = metric.Result{Pending: true}
)

func queue(name string, replicas int32) source.Spec {
	return source.Spec{
		Type: source.External, Name: name, Fallback: source.Fallback{FailureDuration: time.Minute, Replicas: replicas},
	}
}

// TestUpdate: a fallback begins once its metric has failed without interruption, and ends with the first value. Both
// are reported until they are confirmed.
func TestUpdate(t *testing.T) {
	jobs, mails, plain := queue("jobs", 7), queue("mails", 5), queue("plain", 0)
	plain.Fallback = source.Fallback{}
	specs := []source.Spec{jobs, mails, plain}
	var f fallback.Failures
	for _, step := range []struct {
		reason string
		at     time.Duration
		is     [3]metric.Result
		want   fallback.Result
		// isLost is set if the result is not reported.
		isLost bool
	}{
		{"all is well", 0, [3]metric.Result{read, read, read}, fallback.Result{}, false},
		{"the first failure", time.Second, [3]metric.Result{broken, read, broken},
			fallback.Result{Due: noon.Add(61 * time.Second)}, false},
		{"awaited values are no failure, and do not end one", 20 * time.Second, [3]metric.Result{awaited, awaited, read},
			fallback.Result{Due: noon.Add(61 * time.Second)}, false},
		{"the second fails too, and is due later", 30 * time.Second, [3]metric.Result{broken, broken, read},
			fallback.Result{Due: noon.Add(61 * time.Second)}, false},
		{"the first is due", 61 * time.Second, [3]metric.Result{broken, broken, read}, fallback.Result{
			Active: []fallback.Active{{Metric: 0, Since: noon.Add(time.Second), Replicas: 7, From: 3}},
			Began:  []int{0}, Failed: 1,
			Due: noon.Add(90 * time.Second), DueMetric: 1,
		}, true},
		{"that was not reported; a metric with an active fallback may be awaited", 62 * time.Second,
			[3]metric.Result{awaited, broken, read}, fallback.Result{
				Active: []fallback.Active{{Metric: 0, Since: noon.Add(time.Second), Replicas: 7, From: 3}},
				Began:  []int{0}, Pending: 1,
				Due: noon.Add(90 * time.Second), DueMetric: 1,
			}, false},
		{"the first goes on, and the second recovers in time", 63 * time.Second, [3]metric.Result{broken, read, read},
			fallback.Result{
				Active: []fallback.Active{{Metric: 0, Since: noon.Add(time.Second), Replicas: 7, From: 3}}, Failed: 1,
			}, false},
		{"it ends", 64 * time.Second, [3]metric.Result{read, read, read}, fallback.Result{Ended: []int{0}}, true},
		{"that was not reported", 65 * time.Second, [3]metric.Result{read, read, read},
			fallback.Result{Ended: []int{0}}, false},
		{"a failure begins anew", 70 * time.Second, [3]metric.Result{broken, read, read},
			fallback.Result{Due: noon.Add(130 * time.Second)}, false},
		{"a clock that was set back begins anew", 0, [3]metric.Result{broken, read, read},
			fallback.Result{Due: noon.Add(time.Minute)}, false},
		{"and nothing is left", 2 * time.Minute, [3]metric.Result{read, read, read}, fallback.Result{}, false},
	} {
		var got fallback.Result
		f.Update(&fallback.Input{Now: noon.Add(step.at), Specs: specs, Results: step.is[:], Current: 3}, &got)
		if diff := cmp.Diff(step.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.reason, diff)
		}
		if !step.isLost {
			f.Confirm()
		}
	}
	if f != nil {
		t.Errorf("%+v is kept", f)
	}
}

// TestCountBefore: a fallback has the replica count when it began, as long as it goes on.
func TestCountBefore(t *testing.T) {
	specs := []source.Spec{queue("jobs", 7)}
	for name, tt := range map[string]struct {
		f    fallback.Failures
		want int32
	}{
		"it begins":                         {fallback.FailingSince(specs, noon.Add(-time.Hour)), 2},
		"it began at another count":         {fallback.Failures{{Since: noon.Add(-time.Hour), Active: true, From: 5}}, 5},
		"it began, and this was not stored": {fallback.Failures{{Since: noon.Add(-time.Hour), Active: true}}, 0},
		"its beginning was not reported":    {fallback.Failures{{Since: noon.Add(-time.Hour), From: 5}}, 5},
		"the metric had recovered":          {fallback.Failures{{Active: true, From: 5}}, 0},
	} {
		tt.f[0].Metric = fallback.FailingSince(specs, noon)[0].Metric
		var got fallback.Result
		tt.f.Update(&fallback.Input{Now: noon, Specs: specs, Results: []metric.Result{broken}, Current: 2}, &got)
		if tt.f[0].From != tt.want || len(got.Active) > 0 && got.Active[0].From != tt.want {
			t.Errorf("%s: %+v of %+v, want from %d", name, got.Active, tt.f, tt.want)
		}
	}
}

// TestFallbackNotBelowTheKnown: a fallback stands for what is not known of a metric.
func TestFallbackNotBelowTheKnown(t *testing.T) {
	specs := []source.Spec{queue("jobs", 7)}
	for least, want := range map[int32]int32{0: 7, 6: 7, 18: 18} {
		known := broken
		known.Least = least
		f, got := fallback.FailingSince(specs, noon.Add(-time.Hour)), fallback.Result{}
		f.Update(&fallback.Input{Now: noon, Specs: specs, Results: []metric.Result{known}, Current: 20}, &got)
		if len(got.Active) != 1 || got.Active[0].Replicas != want {
			t.Errorf("%d at least: %+v, want %d", least, got.Active, want)
		}
	}
}

// TestWithoutPods: a metric of the pods cannot have values without pods, so it does not fail.
func TestWithoutPods(t *testing.T) {
	specs := []source.Spec{queue("cpu", 7), queue("jobs", 5)}
	specs[0].Type = source.Resource
	for current, want := range map[int32]int{0: 1, 1: 0} {
		var f fallback.Failures
		var got fallback.Result
		f.Update(&fallback.Input{Now: noon, Specs: specs, Results: []metric.Result{broken, broken}, Current: current}, &got)
		if len(f) != 2-want || got.DueMetric != want {
			t.Errorf("with %d pods: %+v fail, %+v", current, f, got)
		}
	}
}

// TestFailingSince: metrics are found again in a list with another order, by what they measure.
func TestFailingSince(t *testing.T) {
	pasted, plain := queue("jobs", 5), queue("plain", 0)
	pasted.Identity, plain.Fallback = "by its query", source.Fallback{}
	specs := []source.Spec{queue("jobs", 7), pasted, plain}
	f := fallback.FailingSince(specs, noon.Add(-time.Hour))
	if len(f) != 2 || f[0].Metric == f[1].Metric {
		t.Fatalf("%+v fail", f)
	}
	var got fallback.Result
	f.Update(&fallback.Input{
		Now: noon, Specs: []source.Spec{pasted, specs[0]}, Results: []metric.Result{broken, read}, Current: 3,
	}, &got)
	want := []fallback.Active{{Metric: 0, Since: noon.Add(-time.Hour), Replicas: 5, From: 3}}
	if diff := cmp.Diff(want, got.Active); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	copied := got.Clone()
	if got.Active[0].Replicas = 9; copied.Active[0].Replicas != 5 {
		t.Error("a copy shares its buffers")
	}
	if f.Clear(); f != nil {
		t.Errorf("%+v is kept", f)
	}
}

func TestText(t *testing.T) {
	spec := queue("jobs", 7)
	for policy, want := range map[source.FallbackPolicy]string{
		source.Static:                  "7 replicas",
		source.CurrentReplicas:         "the current replica count",
		source.CurrentReplicasIfHigher: "the current replica count, at least 7",
		source.CurrentReplicasIfLower:  "the current replica count, at most 7",
	} {
		spec.Fallback.Policy = policy
		want = spec.Describe(divergence.Default) + " could not be computed for 1m0s: its fallback asks for " + want
		if got := fallback.Text(&spec, divergence.Default); got != want {
			t.Errorf("%s: %q, want %q", policy, got, want)
		}
	}
}

// TestAsks: a fallback that keeps the current count says so, with the number of the spec. One that changes it asks for
// that number.
func TestAsks(t *testing.T) {
	for _, tt := range []struct {
		policy            source.FallbackPolicy
		replicas, current int32
		want              string
	}{
		{source.Static, 5, 5, "asks for 5"},
		{source.CurrentReplicas, 7, 5, "keeps the current count"},
		{source.CurrentReplicasIfHigher, 2, 5, "keeps the current count, at least 2"},
		{source.CurrentReplicasIfHigher, 7, 5, "asks for 7"},
		{source.CurrentReplicasIfLower, 7, 5, "keeps the current count, at most 7"},
		{source.CurrentReplicasIfLower, 2, 5, "asks for 2"},
	} {
		f := source.Fallback{Replicas: tt.replicas, Policy: tt.policy}
		if got := fallback.Asks(&f, &metric.Result{}, tt.current); got != tt.want {
			t.Errorf("%s of %d at %d: %q, want %q", tt.policy, tt.replicas, tt.current, got, tt.want)
		}
	}
}
