package recommend

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// webHPA is the horizontal autoscaler of conflicts.
var webHPA = conflict.Name{Kind: "HorizontalPodAutoscaler", Name: "web"}

var began = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// workload is an object with many decisions.
type workload struct {
	policy   Policy
	state    State
	now      time.Time
	decision Decision
	seen     Observation
	writes   int
}

func newWorkload(on divergence.Set, containers ...string) *workload {
	w := &workload{policy: DefaultPolicy(), now: began}
	w.policy.Usage.Divergences = on
	w.seen = Observation{Pods: []string{"a"}, Generation: 1}
	w.has(containers...)
	return w
}

// has sets the containers of each pod.
func (w *workload) has(containers ...string) {
	w.seen.Containers = nil
	for _, name := range containers {
		w.seen.Containers = append(w.seen.Containers, Present{Container: name, Pods: len(w.seen.Pods)})
	}
}

// uses sets the usage of each container from now on.
func (w *workload) uses(cpuMilli, memoryBytes vertical.Amount) {
	w.seen.Samples = nil
	for _, c := range w.seen.Containers {
		w.seen.Samples = append(w.seen.Samples,
			Sample{Pod: "a", Container: c.Container, Use: vertical.Of(cpuMilli, memoryBytes)})
	}
}

// pass decides once, and writes the status if there is a reason.
func (w *workload) pass() {
	for i := range w.seen.Samples {
		w.seen.Samples[i].At = w.now
	}
	w.decision, w.state = Decide(w.now, w.policy, w.state, w.seen)
	if w.decision.Write != status.NotWritten {
		w.writes++
		w.seen.Published = &status.Published{
			Generation: w.seen.Generation, Recommendations: w.decision.Recommendations, Conditions: w.decision.Conditions,
		}
	}
	w.state = Settle(&w.policy, w.state, Outcome{At: w.now, Written: w.decision.Write != status.NotWritten})
	w.now = w.now.Add(time.Minute)
}

func (w *workload) lives(d time.Duration) *workload {
	for end := w.now.Add(d); w.now.Before(end); {
		w.pass()
	}
	return w
}

func (w *workload) condition(kind string) string {
	for _, c := range w.decision.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return ""
}

func (w *workload) recommended() []string {
	var names []string
	for _, r := range w.decision.Recommendations {
		names = append(names, r.Container)
	}
	return names
}

func TestFloorIsSharedByLiveContainers(t *testing.T) {
	for on, want := range map[divergence.Set]struct {
		containers []string
		cpuMilli   vertical.Amount
	}{
		divergence.None:           {[]string{"app", "old"}, 12}, // the container that is gone still counts
		divergence.LiveContainers: {[]string{"app"}, 25},
	} {
		w := newWorkload(on, "app", "old")
		w.uses(1, 1<<20)
		w.lives(time.Hour)
		w.has("app")
		w.uses(1, 1<<20)
		w.pass()
		target, _ := w.decision.Recommendations[0].Target.Get(vertical.CPU)
		if !slices.Equal(w.recommended(), want.containers) || target != want.cpuMilli {
			t.Errorf("with %s: %v, %dm; want %v, %dm", on, w.recommended(), target, want.containers, want.cpuMilli)
		}
		w.seen.Pods, w.seen.Samples = nil, nil
		w.has()
		w.pass()
		if got := len(w.recommended()); got != 2 {
			t.Errorf("with %s and no pods at all, %d containers are recommended for; it is not known which are gone", on, got)
		}
	}
}

func TestNothingThere(t *testing.T) {
	w := newWorkload(divergence.Default)
	w.seen.Pods = nil
	w.pass()
	for kind, want := range map[string]string{
		RecommendationProvided: "False NoPodsMatched No pods match this VPA object",
		NoPodsMatched:          "True NoPodsMatched No pods match this VPA object",
		LowConfidence:          "",
		ConfigUnsupported:      "",
	} {
		if got := w.condition(kind); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	w.seen.Pods = []string{"a"}
	w.pass()
	if got := w.condition(RecommendationProvided); got != "False  " {
		t.Errorf("with pods and no containers it is %q", got)
	}
	if got := w.condition(NoPodsMatched); got != "" {
		t.Errorf("with pods, NoPodsMatched is %q", got)
	}
}

// For a while the target cannot be looked up.
func TestKeepHistory(t *testing.T) {
	for on, want := range map[divergence.Set]struct {
		during, after []string
	}{
		divergence.None:        {nil, nil},
		divergence.KeepHistory: {[]string{"app"}, []string{"app"}},
	} {
		w := newWorkload(on, "app")
		saved := usage.Checkpoint{First: began.Add(-time.Hour), Last: began, Samples: 60}
		saved.Use[vertical.CPU] = histogram.Checkpoint{Reference: began, Weights: map[int]uint32{30: 10000}, Total: 6}
		var err error
		if w.state, err = w.state.Restore(&w.policy, "app", saved, began); err != nil {
			t.Fatal(err)
		}
		w.has() // no such container yet: all data is from before the restart
		w.pass()
		if len(w.recommended()) != 1 {
			t.Fatalf("with %s nothing is made of the checkpoint", on)
		}
		w.seen.Lookup = Lookup{Problem: "Cannot read targetRef. Reason: timeout", Transient: true}
		w.seen.Pods = nil
		w.pass()
		if !slices.Equal(w.recommended(), want.during) {
			t.Errorf("with %s %v is recommended for meanwhile, want %v", on, w.recommended(), want.during)
		}
		if got := w.condition(ConfigUnsupported); got != "True  Cannot read targetRef. Reason: timeout" {
			t.Errorf("with %s the condition is %q", on, got)
		}
		if got := w.condition(NoPodsMatched) == ""; got != (want.during != nil) {
			t.Errorf("with %s NoPodsMatched is %q", on, w.condition(NoPodsMatched))
		}
		w.seen.Lookup, w.seen.Pods = Lookup{}, []string{"a"}
		w.pass()
		if !slices.Equal(w.recommended(), want.after) || w.condition(ConfigUnsupported) != "" {
			t.Errorf("with %s %v is recommended for afterwards, want %v", on, w.recommended(), want.after)
		}
	}
}

// A wrong target has no recommendation, unlike an unknown one.
func TestUnsupportedTarget(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.uses(100, 1<<28)
	w.pass()
	w.seen.Lookup = Lookup{Problem: "The target has a parent controller"}
	w.pass()
	if len(w.recommended()) != 0 || len(w.decision.Events) != 1 || w.decision.Events[0].Reason != ConfigUnsupported {
		t.Errorf("recommended for %v, events %+v", w.recommended(), w.decision.Events)
	}
	w.pass()
	if len(w.decision.Events) != 0 {
		t.Errorf("reported once more: %+v", w.decision.Events)
	}
}

func TestLowConfidence(t *testing.T) {
	w := newWorkload(divergence.Default, "app", "proxy")
	w.uses(100, 1<<28)
	w.lives(23 * time.Hour)
	if got := w.condition(LowConfidence); got != "True LittleHistory The history is shorter than the confidence "+
		"interval: app, proxy" {
		t.Errorf("after 23 hours it is %q", got)
	}
	w.lives(2 * time.Hour)
	if got := w.condition(LowConfidence); got != "" {
		t.Errorf("after 25 hours it is %q", got)
	}
	if w.policy.Usage.Divergences = divergence.None; w.lives(time.Minute).condition(LowConfidence) != "" {
		t.Error("upstream never says it")
	}
}

func TestConflict(t *testing.T) {
	for _, skips := range []bool{true, false} {
		w := newWorkload(divergence.Default, "app", "proxy")
		w.uses(100, 1<<28)
		w.seen.Conflicts = []conflict.Conflict{{Container: "app", Resource: vertical.CPU, Horizontal: webHPA}}
		w.seen.SkipsConflicts = skips
		w.pass()
		if _, has := w.decision.Recommendations[0].Target.Get(vertical.CPU); has == skips {
			t.Errorf("skip=%v, and the CPU of app is recommended: %v", skips, has)
		}
		if _, has := w.decision.Recommendations[1].Target.Get(vertical.CPU); !has {
			t.Error("the CPU of proxy counts for another container")
		}
		if got := w.condition(conflict.Condition); !strings.HasPrefix(got, "True "+conflict.ReasonUtilization) {
			t.Errorf("the condition is %q", got)
		}
		if len(w.decision.Events) != 1 {
			t.Errorf("events %+v", w.decision.Events)
		}
	}
}

// TestAllIsFoughtOver: a container whose resources are all in conflict has no recommendation, because the API does not
// accept an empty target; the condition and the trace have the reason.
func TestAllIsFoughtOver(t *testing.T) {
	w := newWorkload(divergence.Default, "app", "proxy")
	w.uses(100, 1<<28)
	w.seen.Conflicts = []conflict.Conflict{{Container: "app", Resource: vertical.CPU, Horizontal: webHPA},
		{Container: "app", Resource: vertical.Memory, Horizontal: webHPA}}
	w.seen.SkipsConflicts = true
	w.pass()
	if len(w.decision.Recommendations) != 1 || w.decision.Recommendations[0].Container != "proxy" ||
		len(w.decision.Traces) != 2 {
		t.Errorf("recommended is %+v", w.decision.Recommendations)
	}
	if skipped := w.decision.Traces[0].Skipped; !skipped[vertical.CPU] || !skipped[vertical.Memory] ||
		w.condition(conflict.Condition) == "" {
		t.Errorf("skipped %v, condition %q", skipped, w.condition(conflict.Condition))
	}
}

// A sample that the recommender refused before the decision is reported like one that the decision discards.
func TestRefusedSamples(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.uses(100, 1<<28)
	w.lives(time.Hour)
	w.seen.Refused = []Discarded{{Pod: "a", Container: "app", Resource: vertical.Memory, Why: "no amount"}}
	w.pass()
	if diff := cmp.Diff(w.seen.Refused, w.decision.Discarded); diff != "" || len(w.decision.Events) != 1 ||
		w.condition(ImplausibleSamples) == "" {
		t.Errorf("%s, events %+v, condition %q", diff, w.decision.Events, w.condition(ImplausibleSamples))
	}
}

func TestImplausibleSamples(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.uses(100, 1<<28)
	w.lives(time.Hour)
	before := w.decision.Recommendations[0].Target
	w.uses(2_000_000_000, 1<<52)
	w.pass()
	if len(w.decision.Discarded) != 2 || w.decision.Recommendations[0].Target != before {
		t.Errorf("left out %+v, target %+v, before %+v", w.decision.Discarded, w.decision.Recommendations[0].Target, before)
	}
	if got := w.condition(ImplausibleSamples); got == "" {
		t.Error("there is no event")
	}
	w.uses(100, 1<<28)
	w.lives(59 * time.Minute)
	if got := w.condition(ImplausibleSamples); got == "" {
		t.Error("the condition flaps")
	}
	w.lives(2 * time.Minute)
	if got := w.condition(ImplausibleSamples); got != "" {
		t.Errorf("an hour later it is %q", got)
	}
	w.seen.Samples[0].Use = vertical.Of(-1, -1)
	w.pass()
	if len(w.decision.Discarded) != 2 || w.decision.Discarded[0].Why != "negative" {
		t.Errorf("left out %+v", w.decision.Discarded)
	}
	d, _ := Decide(w.now, w.policy, w.state, Observation{Samples: []Sample{
		{Pod: "a", Container: "app", At: w.now.Add(24 * time.Hour), Use: vertical.Amounts{}.With(vertical.CPU, 1)},
	}})
	if len(d.Discarded) != 1 || d.Discarded[0].Why != "from the future" {
		t.Errorf("left out %+v", d.Discarded)
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	var err error
	if w.state, err = w.state.Restore(&w.policy, "app", usage.Checkpoint{Samples: -3}, began); err == nil {
		t.Fatal("taken")
	}
	w.state = w.state.Damaged("proxy", "version v2")
	w.uses(100, 1<<28)
	w.pass()
	if got := w.condition(DamagedCheckpoint); got != "True HistoryLost app: -3 samples; proxy: version v2" {
		t.Errorf("the condition is %q", got)
	}
	if len(w.decision.Recommendations) != 1 {
		t.Errorf("recommended for %v", w.recommended())
	}
	w.state = Settle(&w.policy, w.state, Outcome{At: w.now, Saved: []string{"app", "proxy"}})
	w.pass()
	if got := w.condition(DamagedCheckpoint); got != "" {
		t.Errorf("after another was saved it is %q", got)
	}
}

// The status is written seldom while usage is constant, and at once after a change.
func TestQuietStatus(t *testing.T) {
	for on, want := range map[divergence.Set]struct{ firstDay, secondDay int }{
		divergence.None:        {1440, 1440},
		divergence.QuietStatus: {140, 8},
	} {
		w := newWorkload(on, "app")
		w.policy.PodMin = [vertical.Resources]float64{}
		w.uses(4000, 1<<30)
		w.lives(24 * time.Hour)
		firstDay := w.writes
		w.lives(24 * time.Hour)
		if secondDay := w.writes - firstDay; firstDay > want.firstDay || secondDay > want.secondDay || secondDay == 0 {
			t.Errorf("with %s %d and %d writes in two days, want at most %+v", on, firstDay, secondDay, want)
		}
		if on == divergence.None && firstDay < 1400 {
			t.Errorf("upstream writes %d times on the first day", firstDay)
		}
		w.seen.OOMs = []OOM{{Container: "app", OOM: usage.OOM{Pod: "a", At: w.now, Request: 4 << 30}}}
		w.pass()
		if w.decision.Write == status.NotWritten {
			t.Errorf("with %s memory that ran out is not worth a write", on)
		}
	}
}

// A pod that runs out of memory before its first sample gets a higher recommendation.
func TestStartOOM(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.seen.OOMs = []OOM{{Container: "app",
		OOM: usage.OOM{Pod: "a", At: began, Request: 256 << 20, Limit: 512 << 20, Standing: true}}}
	w.pass()
	target, _ := w.decision.Recommendations[0].Target.Get(vertical.Memory)
	if target < 612<<20 {
		t.Errorf("the target is %d after running out of 512 MiB", target)
	}
	w.pass() // the pod's status still has the OOM
	if again, _ := w.decision.Recommendations[0].Target.Get(vertical.Memory); again != target {
		t.Errorf("seen once more, it is %d", again)
	}
}

func TestContention(t *testing.T) {
	for counts, factor := range map[bool]float64{false: 1, true: 1.8} {
		w := newWorkload(divergence.Default, "app")
		w.policy.CountContention = counts
		w.uses(1000, 1<<28)
		w.seen.Samples[0].Contention = cpucontention.Shares{Throttled: 0.8, Pressure: 0.3}
		w.lives(time.Hour)
		shape := histogram.ShapeOf(vertical.CPU, 24*time.Hour)
		want := vertical.AmountOf(shape.Start(shape.Find(factor)+1) * 1000)
		if got := w.decision.Traces[0].Estimates[vertical.CPU][estimate.Target].Used; got != want {
			t.Errorf("counting it is %v: %dm used, want %dm", counts, got, want)
		}
		if got := w.decision.Traces[0].Contention; got != (cpucontention.Shares{Throttled: 0.8, Pressure: 0.3}) {
			t.Errorf("reported as %+v", got)
		}
	}
	if got := (cpucontention.Shares{Throttled: 7}).Factor(); got != 2 {
		t.Errorf("a share above one multiplies by %v", got)
	}
}

func TestDecideChangesNothingBefore(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.uses(100, 1<<28)
	w.lives(time.Hour)
	state, at := w.state, w.now
	saved, _ := state.Checkpoint(&w.policy, "app", at)
	w.uses(9000, 1<<33)
	w.lives(time.Hour)
	w.seen.Pods = nil
	w.lives(10 * 24 * time.Hour)
	if again, ok := state.Checkpoint(&w.policy, "app", at); !ok || cmp.Diff(saved, again) != "" {
		t.Errorf("a later decision changed the state of an earlier:\n%s", cmp.Diff(saved, again))
	}
}

// A container without samples for eight days is dropped, and no longer saved.
func TestSettleForgets(t *testing.T) {
	w := newWorkload(divergence.Default&^divergence.SampleTime, "app")
	w.uses(100, 1<<28)
	w.lives(time.Hour)
	if got := w.state.Changed(); !slices.Equal(got, []string{"app"}) {
		t.Errorf("to be saved: %v", got)
	}
	w.state = Settle(&w.policy, w.state, Outcome{At: w.now, Saved: []string{"app"}})
	if got := w.state.Changed(); got != nil {
		t.Errorf("to be saved after it was: %v", got)
	}
	w.seen.Pods, w.seen.Samples = nil, nil
	w.has()
	w.lives(time.Hour)
	w.now = w.now.Add(9 * 24 * time.Hour)
	w.pass()
	if len(w.state.Containers) != 0 {
		t.Errorf("remembered: %+v", w.state.Containers)
	}
	if _, ok := w.state.Checkpoint(&w.policy, "app", w.now); ok {
		t.Error("there is something to save")
	}
}

func TestOff(t *testing.T) {
	w := newWorkload(divergence.Default, "app", "proxy")
	w.policy.Containers = []vertical.ContainerPolicy{{Container: "proxy", Off: true}}
	w.uses(1, 1)
	w.pass()
	target, _ := w.decision.Recommendations[0].Target.Get(vertical.CPU)
	if !slices.Equal(w.recommended(), []string{"app"}) || target != 25 {
		t.Errorf("%v, %dm", w.recommended(), target)
	}
}
