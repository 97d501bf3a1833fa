package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/load"
)

const (
	light = "[sig-autoscaling] [Feature:HPA] Horizontal pod autoscaling (scale resource: CPU) ReplicaSet light Should " +
		"scale from 1 pod to 2 pods"
	stable = "[sig-autoscaling] [Feature:HPA] [FeatureGate:HPAConfigurableTolerance] Horizontal pod autoscaling " +
		"(configurable tolerance) with large configurable tolerance should not scale [Slow]"
	dns = "[sig-autoscaling] [Feature:KubeDNSAutoscaler] DNS horizontal autoscaling kube-dns-autoscaler should scale " +
		"kube-dns pods when cluster size changed [Serial] [Slow]"
)

func TestHorizontalSpec(t *testing.T) {
	for full, want := range map[string]Spec{
		light:  {Name: "(scale resource: CPU) ReplicaSet light Should scale from 1 pod to 2 pods"},
		stable: {Name: "(configurable tolerance) with large configurable tolerance should not scale"},
		dns: {Name: "DNS horizontal autoscaling kube-dns-autoscaler should scale kube-dns pods when cluster size changed",
			NotRun: elsewhere["[Feature:KubeDNSAutoscaler]"]},
		"[sig-autoscaling] [Feature:Other] Something else": {Name: "Something else", NotRun: "no test of HPAs"},
	} {
		want.FullName = full
		if got := horizontalSpec(full); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for full, want := range map[string]bool{light: false, dns: true} {
		if spec := horizontalSpec(full); spec.isSerial() != want {
			t.Errorf("%s: serial %v", full, !want)
		}
	}
	spec := horizontalSpec(stable)
	for parts, want := range map[string]bool{"": true, "tolerance) with large": true, "memory|large": true,
		"[Slow]": true, "memory|small": false} {
		if got := spec.hasPart(strings.Split(parts, "|")); got != want {
			t.Errorf("%q: got %v", parts, got)
		}
	}
}

func TestReadReport(t *testing.T) {
	const skipped = `{"LeafNodeType": "It", "State": "skipped", "RunTime": 0}`
	const around = `{"LeafNodeType": "ReportAfterSuite", "State": "passed", "RunTime": 5}`
	for name, c := range map[string]struct {
		text string
		want Outcome
	}{
		"passed": {`[{"SpecReports": [` + skipped + `, {"LeafNodeType": "It", "State": "passed", "RunTime": 93500000000}, ` +
			around + `]}]`, Outcome{State: Passed, Seconds: 93.5}},
		"failed": {`[{"SpecReports": [{"LeafNodeType": "It", "State": "failed", "RunTime": 1000000000, ` +
			`"Failure": {"Message": "timeout waiting"}}]}]`, Outcome{State: Failed, Seconds: 1, Message: "timeout waiting"}},
		"panicked": {`[{"SpecReports": [{"LeafNodeType": "It", "State": "panicked", "RunTime": 1000000000}]}]`,
			Outcome{State: Failed, Seconds: 1}},
		"skipped by itself": {`[{"SpecReports": [{"LeafNodeType": "It", "State": "skipped", "RunTime": 1000000000, ` +
			`"Failure": {"Message": "no such feature"}}]}]`,
			Outcome{State: Failed, Seconds: 1, Message: "no such feature"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readReport(written(t, c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, text := range map[string]string{
		"none ran": `[{"SpecReports": [` + skipped + `]}]`, "no report": "", "no suite": "[]",
	} {
		if _, err := readReport(written(t, text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestResult(t *testing.T) {
	passed := Outcome{State: Passed, Seconds: 93}
	failed := Outcome{State: Failed, Seconds: 120, Message: "timeout"}
	gaps := load.Report{Requests: 4, Late: 1, LongestGapSeconds: 60}
	starved, survived := failed, passed
	starved.Load, survived.Load = gaps, gaps
	crowded := failed
	crowded.BusyCPU, failed.BusyCPU = 0.97, 0.6
	result := &Result{Specs: []SpecResult{
		{Spec: horizontalSpec(light), Outcomes: map[Subject][]Outcome{Plimsoll: {passed, starved, survived}, Upstream: {starved}}},
		{Spec: horizontalSpec(stable), Outcomes: map[Subject][]Outcome{Plimsoll: {crowded, failed}}},
		{Spec: horizontalSpec(dns)},
	}}
	other := &Result{Specs: []SpecResult{{Spec: horizontalSpec(light), Outcomes: map[Subject][]Outcome{
		Upstream: {passed}, Plimsoll: {failed},
	}}, {Spec: horizontalSpec(stable), Outcomes: map[Subject][]Outcome{Upstream: {passed}}}}}
	result.Take(other)
	if got := result.runnable(); got != 2 {
		t.Errorf("%d can be run", got)
	}
	for subject, want := range map[Subject][][]string{
		Plimsoll: {{result.Specs[1].Name}, nil}, // a starved run passed later
		Upstream: {nil, {result.Specs[0].Name}},
	} {
		failed, starved := result.Failures(subject)
		if diff := cmp.Diff(want, [][]string{failed, starved}); diff != "" {
			t.Errorf("%s: %s", subject, diff)
		}
	}
	if own, other := result.Specs[0].judged(Plimsoll), result.Specs[0].judged(Upstream); own != 2 || other != 0 {
		t.Errorf("%d and %d runs were judged", own, other)
	}
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"passed 93 s, failed 120 s (starved), passed 93 s  failed 120 s (starved)\n",
		"failed 120 s (starved), failed 120 s             passed 93 s\n",
		"tolerance should not scale, plimsoll, run 1, failed: 97 % of the machine's CPU time was used.",
		"light Should scale from 1 pod to 2 pods, plimsoll, run 2, failed: the machine starved the load: 1 of 4 requests for " +
			"load came late, up to 60 s after the one before instead of 30; 0 failed.",
		"when cluster size changed: not run: about cluster-proportional-autoscaler",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}

// TestQueue: jobs go in their order, but not beside another run of the same test, and one that needs much is not
// overtaken.
func TestQueue(t *testing.T) {
	const light, long, heavy = 0, 1, 2
	q := newQueue([]job{{0, long, 1}, {0, light, 1}, {1, long, 1}, {1, heavy, 3}, {1, light, 1}}, 4)
	want := func(want job) {
		t.Helper()
		if got, isThere, _ := q.take(); !isThere || got != want {
			t.Fatalf("%+v, %v, want %+v", got, isThere, want)
		}
	}
	none := func(wantLast bool) {
		t.Helper()
		if got, isThere, isLast := q.take(); isThere || isLast != wantLast {
			t.Fatalf("%+v, %v, last %v", got, isThere, isLast)
		}
	}
	want(job{0, long, 1})
	want(job{0, light, 1})
	none(false) // The second run of the long one would be beside the first, and the heavy one has no room.
	q.done(job{0, light, 1})
	want(job{1, heavy, 3})
	none(false)
	q.done(job{0, long, 1})
	want(job{1, long, 1})
	none(false)
	q.done(job{1, heavy, 3})
	if got, isThere := q.next(t.Context()); !isThere || got != (job{1, light, 1}) {
		t.Errorf("%+v, %v", got, isThere)
	}
	if got, isThere := q.next(t.Context()); isThere {
		t.Errorf("%+v", got)
	}
}

// TestQueueWaits: a job without room waits until another has ended, and none is given out after the context has.
func TestQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue([]job{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		taken := make(chan job, 3)
		go func() {
			defer close(taken)
			for j, isThere := q.next(ctx); isThere; j, isThere = q.next(ctx) {
				taken <- j
			}
		}()
		q.done(<-taken)
		second := <-taken
		synctest.Wait()
		cancel()
		if j, isThere := <-taken; isThere {
			t.Errorf("%+v while there was no room", j)
		}
		q.done(second)
		if j, isThere := q.next(ctx); isThere {
			t.Errorf("%+v after the end of the context", j)
		}
	})
}

// TestOutcomeText: a line of progress has all signs that the load was starved.
func TestOutcomeText(t *testing.T) {
	o := Outcome{State: Failed, Seconds: 10, BusyCPU: 0.95, Load: load.Report{Requests: 4, Late: 1}}
	if got := o.String(); !strings.Contains(got, "0 failed; 95 % of the machine's CPU time was used") {
		t.Errorf("%s", got)
	}
}

// TestPlaces: a test that uses much CPU takes the place of several, and no more than there are.
func TestPlaces(t *testing.T) {
	much := horizontalSpec("[Feature:HPA] Horizontal pod autoscaling (configurable tolerance) with small scale-up, large scale-down " +
		"tolerances should scale up but should not scale down")
	few := horizontalSpec(light)
	for most, want := range map[int]int{1: 1, 2: 2, 4: 3} {
		if got := much.places(most); got != want {
			t.Errorf("%d of %d, want %d", got, most, want)
		}
	}
	if got := few.places(4); got != 1 {
		t.Errorf("another test takes %d of 4", got)
	}
}

// TestBusyCPU: what the CPUs do is between nothing and all, whatever the machine does now.
func TestBusyCPU(t *testing.T) {
	before := cpuTime{idle: 100, all: 300}
	for now, want := range map[cpuTime]float64{
		{idle: 100, all: 310}: 1, {idle: 105, all: 320}: 0.75, {idle: 120, all: 320}: 0, before: 0,
	} {
		if got := now.busySince(before); got != want {
			t.Errorf("%+v: %v busy, want %v", now, got, want)
		}
	}
	if now, err := readCPUTime(); err != nil || now.all <= 0 || now.idle > now.all {
		t.Errorf("this machine: %+v, %v", now, err)
	}
}

func TestLongestFirst(t *testing.T) {
	took := func(seconds ...float64) map[Subject][]Outcome {
		var outcomes []Outcome
		for _, s := range seconds {
			outcomes = append(outcomes, Outcome{State: Passed, Seconds: s})
		}
		return map[Subject][]Outcome{Upstream: outcomes}
	}
	result := &Result{Specs: []SpecResult{
		{Spec: horizontalSpec(light)}, {Outcomes: took(90, 100)}, {Outcomes: took(300)}, {Spec: horizontalSpec(stable)},
	}}
	if got, want := result.longestFirst(), []int{2, 1, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Earlier results are kept, and tests that are not wanted now are not run.
func TestChoose(t *testing.T) {
	specs := []Spec{horizontalSpec(light), horizontalSpec(stable), horizontalSpec(dns)}
	config := Config{Focus: "large|kube-dns"}
	got := config.choose(specs)
	if len(got) != 2 || got[0].FullName != stable || !got[0].canRun() || got[1].FullName != dns || got[1].canRun() {
		t.Errorf("got %+v", got)
	}
	outcomes := map[Subject][]Outcome{Upstream: {{State: Passed, Seconds: 93}}}
	config.Earlier = &Result{Specs: []SpecResult{{Spec: specs[0], Outcomes: outcomes}}}
	got = config.choose(specs)
	if len(got) != 3 || got[0].canRun() || !got[1].canRun() || len(got[1].Outcomes) > 0 {
		t.Errorf("with earlier results: got %+v", got)
	}
	if diff := cmp.Diff(outcomes, got[0].Outcomes); diff != "" {
		t.Error(diff)
	}
	config.Focus = ""
	if got = config.choose(specs); len(got) != 3 || !got[0].canRun() || len(got[0].Outcomes[Upstream]) != 1 {
		t.Errorf("all: got %+v", got)
	}
}
