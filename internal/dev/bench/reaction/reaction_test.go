package reaction

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/images"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

func TestMomentsCountFromTheLoad(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64, wanted, ready int32) sighting {
		return sighting{at: began.Add(time.Duration(seconds * float64(time.Second))), wanted: wanted, ready: ready}
	}
	for name, c := range map[string]struct {
		seen []sighting
		want moments
	}{
		"each milestone is the first sighting at or beyond it": {
			[]sighting{at(0, 2, 2), at(1.5, 4, 2), at(1.6, 4, 2), at(2.5, 9, 3), at(3.5, 10, 4), at(7, 10, 10), at(8, 10, 10)},
			moments{firstWrite: 1.5, almostWanted: 2.5, allWanted: 3.5, allReady: 7},
		},
		"what was before the load was not caused by it": {
			[]sighting{at(-3, 4, 4), at(0.5, 2, 2), at(2, 3, 2)},
			moments{firstWrite: 2, almostWanted: math.NaN(), allWanted: math.NaN(), allReady: math.NaN()},
		},
		"one write may be all of them": {
			[]sighting{at(4, 10, 2)},
			moments{firstWrite: 4, almostWanted: 4, allWanted: 4, allReady: math.NaN()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, momentsOf(began, c.seen), cmp.AllowUnexported(moments{}),
				cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSightingOfADeploymentWithoutCount(t *testing.T) {
	if s := sightingOf(&appsv1.Deployment{Status: appsv1.DeploymentStatus{ReadyReplicas: 3}}, time.Now()); s.wanted != 0 ||
		s.ready != 3 {
		t.Errorf("got %+v", s)
	}
}

func TestJournalWakesWaiters(t *testing.T) {
	j := newJournal(nil)
	done := make(chan error, 1)
	go func() { done <- j.await(t.Context(), time.Minute, func(s sighting) bool { return s.ready == 2 }) }()
	began := time.Now()
	j.note(sighting{at: began, ready: 1})
	j.note(sighting{at: began.Add(time.Second), ready: 2})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if seen := j.since(began.Add(time.Millisecond)); len(seen) != 1 || seen[0].ready != 2 {
		t.Errorf("got %+v", seen)
	}
	err := j.await(t.Context(), time.Millisecond, func(s sighting) bool { return s.ready == 9 })
	if !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestABReport(t *testing.T) {
	const text = "Concurrency Level:      4\nTime taken for tests:   11.000 seconds\nComplete requests:      " +
		"123456\nFailed requests:        0\n"
	if got, err := parseAB(text); err != nil || got != 123456 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, bad := range []string{"", "Complete requests: many\n", "Total of 3 requests completed\n"} {
		if _, err := parseAB(bad); err == nil {
			t.Errorf("read a number from %q", bad)
		}
	}
}

// ab takes whole seconds, and a time alone makes it stop at 50,000 requests.
func TestABArguments(t *testing.T) {
	got := strings.Join(abArguments(10700*time.Millisecond, "10.213.0.7"), " ")
	if want := "-q -r -k -t 11 -n 2000000 -c 4 http://10.213.0.7/"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := abArguments(400*time.Millisecond, "10.213.0.7"); got != nil {
		t.Errorf("too little is left, got %v", got)
	}
}

func TestEachPodIsLoadedOnce(t *testing.T) {
	l := &abLoad{loaded: map[string]bool{}}
	if !l.isNew("a") || l.isNew("a") || !l.isNew("b") {
		t.Error("a pod is new once")
	}
}

func TestReadyMeansReadyAndStaying(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady,
		Status: corev1.ConditionTrue}}}}
	if !ready(pod) {
		t.Error("is ready")
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if ready(pod) || ready(&corev1.Pod{}) {
		t.Error("is not ready")
	}
}

func TestSettlingOutlastsTwoScrapes(t *testing.T) {
	for subject, want := range map[string]time.Duration{"upstream, defaults": 35 * time.Second,
		"upstream, tuned": 25 * time.Second, "Plimsoll": 20 * time.Second} {
		for _, s := range []Subject{UpstreamDefaults(), UpstreamTuned(), PlimsollDefaults()} {
			if s.Name == subject && s.settle() != want {
				t.Errorf("%s settles for %s", s.Name, s.settle())
			}
			if s.Kind == Upstream && s.RequestTimeout >= s.Resolution {
				t.Errorf("%s: metrics-server would refuse to start", s.Name)
			}
		}
	}
}

func TestConfigIsCompleted(t *testing.T) {
	for _, bad := range []Config{{}, {Stage: &stage{}},
		{Stage: &stage{}, Subjects: []Subject{PlimsollDefaults()}, Runs: -1}} {
		if _, err := bad.completed(); err == nil {
			t.Errorf("took %+v", bad)
		}
	}
	c, err := Config{Stage: &stage{}, Subjects: []Subject{PlimsollDefaults()}}.completed()
	if err != nil || c.Runs != DefaultRuns || c.Patience != DefaultPatience || c.Rest != DefaultRest {
		t.Errorf("got %+v, %v", c, err)
	}
}

// stage is one in which only the test acts.
type stage struct {
	client kubernetes.Interface
	failed chan error
	used   time.Duration
	// samples are nil where nothing is sampled.
	samples Samples
}

func (s *stage) Title() string                                    { return "a stage" }
func (s *stage) Client() kubernetes.Interface                     { return s.client }
func (s *stage) Failed() <-chan error                             { return s.failed }
func (s *stage) Template(Subject) corev1.PodTemplateSpec          { return corev1.PodTemplateSpec{} }
func (s *stage) Autoscaler(Subject) (Autoscaler, error)           { return nil, errors.New("the stage has none") }
func (s *stage) Begin(context.Context, Subject) error             { return nil }
func (s *stage) End(context.Context) error                        { return nil }
func (s *stage) Load(context.Context, time.Duration) (int, error) { return 22, nil }
func (s *stage) Samples(context.Context) (Samples, error)         { return s.samples, nil }
func (s *stage) KubeletCPU() (time.Duration, bool, error) {
	s.used += time.Second
	return s.used, true, nil
}

// A workload that is scaled before the load is no measurement.
func TestScaledEarly(t *testing.T) {
	c := Config{Stage: &stage{}, Rest: time.Millisecond, Patience: time.Second, Say: func(string, ...any) {}}
	j := newJournal(nil)
	j.note(sighting{at: time.Now(), wanted: minReplicas, ready: minReplicas})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("ended by the test")
	cancel(reason)
	if err := c.play(ctx, Subject{}, j, &trial{}); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	j.note(sighting{at: time.Now(), wanted: 4, ready: minReplicas})
	c.Patience = time.Millisecond
	if err := c.play(t.Context(), Subject{}, j, &trial{}); !errors.Is(err, errScaledEarly) {
		t.Errorf("scaled before it was at rest: got %v", err)
	}
	j.note(sighting{at: time.Now(), wanted: minReplicas, ready: minReplicas - 1})
	if err := c.play(t.Context(), Subject{}, j, &trial{}); !errors.Is(err, errTooLong) || errors.Is(err, errScaledEarly) {
		t.Errorf("never at rest: got %v", err)
	}
}

// A stage that fails ends the experiment with its reason.
func TestFailureEndsTheExperiment(t *testing.T) {
	failed := make(chan error, 1)
	reason := errors.New("etcd ended")
	failed <- reason
	_, err := Run(t.Context(), Config{Stage: &stage{client: fake.NewClientset(), failed: failed},
		Subjects: []Subject{PlimsollDefaults()}, Runs: 1})
	if !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

func TestKubeletCores(t *testing.T) {
	c := Config{Stage: &stage{}}
	got, err := c.kubeletCores(t.Context(), 10*time.Millisecond)
	// One second of CPU for each reading, 10 ms apart or a little more.
	if err != nil || got < 1 || got > 100 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestResult(t *testing.T) {
	c := Config{Stage: &stage{}}
	result := c.newResult(report.Machine{CPUs: 2, CPUModel: "Some CPU"})
	nan := math.NaN()
	result.Subjects = []SubjectResult{
		resultOf(UpstreamDefaults(), []trial{
			{moments: moments{7, 22, 37, 38}, sampled: 5, answered: 100, coresAlone: 0.05, coresWatched: 0.05},
			{moments: moments{19, 34, 49, nan}, sampled: 11, answered: 100, coresAlone: 0.05, coresWatched: 0.05},
		}, 1),
		resultOf(PlimsollDefaults(), []trial{
			{moments: moments{1.3, 2.4, 8.5, 9}, sampled: 1, answered: 100, coresAlone: 0.05, coresWatched: 0.07},
		}, 0),
	}
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	const want = `Seconds from the begin of the load, a stage, Kubernetes v1.37.1, on 2 CPUs (Some CPU). Median of the runs (least to most).

                                         upstream, defaults  Plimsoll
-------------------------------------  --------------------  --------
first scale write, s                     13.0 (7.0 to 19.0)      1.30
8 wanted, s                             28.0 (22.0 to 34.0)      2.40
10 wanted, s                            43.0 (37.0 to 49.0)      8.50
10 ready, s                                            38.0      9.00
first sample with the load, s          8.00 (5.00 to 11.00)      1.00
first scale write after it, s           5.00 (2.00 to 8.00)     0.300
10 wanted after it, s                   35.0 (32.0 to 38.0)      7.50
requests answered a second                              100       100
kubelet at rest, no autoscaler, cores                 0.050     0.050
kubelet at rest, autoscaler, cores                    0.050     0.070

Note: upstream, defaults did not have 10 replicas ready in 1 of 2 runs, which its medians leave out.

Note: upstream, defaults scaled without load before 1 of the runs, which was begun again.

Target of Plimsoll: first scale write within 5.50 s, median: met.

Target of Plimsoll: 10 wanted within 8.00 s, median: MISSED by 0.500 s.

Target of Plimsoll: first scale write after the first sample with the load within 1.50 s, median: met.

Target of Plimsoll: 10 wanted after it within 4.00 s, median: MISSED by 3.50 s.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(result)
	if err != nil ||
		!strings.Contains(string(text), `"tenWantedSeconds":{"median":8.5,"min":8.5,"max":8.5,"runs":[8.5]}`) ||
		!strings.Contains(string(text), `"tenWantedAfterSampleSeconds":{"median":7.5,"min":7.5,"max":7.5,"runs":[7.5]}`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Without a kubelet there are no rows about it.
func TestResultOfSimulatedNodes(t *testing.T) {
	result := Config{Stage: &stage{}}.newResult(report.Machine{})
	nan := math.NaN()
	result.Subjects = []SubjectResult{resultOf(PlimsollDefaults(),
		[]trial{{moments: moments{nan, nan, nan, nan}, sampled: nan, coresAlone: nan, coresWatched: nan}}, 0)}
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "kubelet") || strings.Contains(out.String(), "sample") || !strings.Contains(out.String(), "MISSED, it did not happen") {
		t.Errorf("got %s", out.String())
	}
}

// TestAgentTargets: with an agent on the node the slowest run counts too, and a run in which it did not happen.
func TestAgentTargets(t *testing.T) {
	quick := trial{moments: moments{0.5, 1.5, 2.5, 4}}
	slow := trial{moments: moments{1.5, 2, 3, 5}}
	never := trial{moments: moments{0.5, 1.5, math.NaN(), math.NaN()}}
	result := Config{Stage: &stage{}}.newResult(report.Machine{})
	for _, trials := range [][]trial{{quick, quick}, {quick, quick, slow}, {quick, quick, never}} {
		result.Subjects = append(result.Subjects, resultOf(PlimsollAgent(), trials, 0))
	}
	var out strings.Builder
	if err := result.Write(&out); err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{
		"first scale write within 0.800 s, median: met.":                   3,
		"first scale write within 1.20 s, slowest run: MISSED by 0.300 s.": 1,
		"10 wanted within 3.50 s, slowest run: met.":                       2,
		"10 wanted within 3.50 s, slowest run: MISSED, it did not happen.": 1,
		"10 wanted within 3.00 s, median: met.":                            3,
		"first scale write within 1.20 s, slowest run: met.":               2,
	} {
		if n := strings.Count(out.String(), text); n != times {
			t.Errorf("%q is there %d times, not %d:\n%s", text, n, times, out.String())
		}
	}
}

// TestLoadsReachTheMost: the use of a load's pods leads to the most replicas as soon as the first of them shows it, and
// at rest to no more than the least. With two containers the whole pod's use leads to none.
func TestLoadsReachTheMost(t *testing.T) {
	requests := func(load Load, of corev1.ResourceName, container string) (sum int64) {
		for _, c := range deployment((&Real{}).Template(Subject{Load: load})).Spec.Template.Spec.Containers {
			if amount := c.Resources.Requests[of]; container == "" || c.Name == container {
				sum += amount.MilliValue()
			}
		}
		return sum
	}
	wanted := func(usedMilli, requestedMilli int64, percent int32) int64 {
		target := requestedMilli * int64(percent) / 100
		return (minReplicas*usedMilli + target - 1) / target
	}
	hot, whole := TwoContainers.metric(), requests(TwoContainers, corev1.ResourceCPU, "")
	if got := wanted(hotLimitMilli, requests(TwoContainers, hot.Name, hot.Container), hot.Percent); got < maxReplicas {
		t.Errorf("two containers: the hot one asks for %d", got)
	}
	if got := wanted(hotLimitMilli, whole, hot.Percent); got > minReplicas {
		t.Errorf("two containers: both together ask for %d", got)
	}
	// A node of two CPUs also has Plimsoll's two pods of 250m, its agent's of 10m and metrics-server outside.
	if all := maxReplicas * whole; all > 2000-510 {
		t.Errorf("two containers: the pods request %dm", all)
	}
	memory := Memory.metric()
	requested := requests(Memory, memory.Name, memory.Container)
	const underLoad, atRest = connectionsPerPod * images.MiBPerConnection << 20 * 1000, 16 << 20 * 1000
	if got := wanted(underLoad, requested, memory.Percent); got < maxReplicas {
		t.Errorf("memory: under load %d", got)
	}
	if got := wanted(atRest, requested, memory.Percent); got > minReplicas {
		t.Errorf("memory: at rest %d", got)
	}
	for _, load := range []Load{"", Article, Sidecar, SlowReadiness} {
		if m := load.metric(); m != (autoscaler.Resource{Name: corev1.ResourceCPU, Percent: targetPercent}) ||
			requests(load, corev1.ResourceCPU, server) != requestMilli {
			t.Errorf("%s: %+v", load, m)
		}
	}
}

// TestLoads: each configures the pods, and there is no other.
func TestLoads(t *testing.T) {
	pods := map[Load]corev1.PodSpec{}
	for _, name := range []string{"article", "sidecar", "slow-readiness", "two-containers", "memory"} {
		var load Load
		if err := load.Set(name); err != nil || load.String() != name {
			t.Errorf("%s: %v", name, err)
		}
		pod := (&Real{}).Template(Subject{Load: load}).Spec
		pods[load] = pod
	}
	if len(pods[Article].Containers) != 1 || pods[Article].Containers[0].ReadinessProbe.InitialDelaySeconds != 0 {
		t.Errorf("the article's: %+v", pods[Article])
	}
	if len(pods[Sidecar].Containers) != 2 {
		t.Errorf("with a sidecar: %+v", pods[Sidecar])
	}
	if pods[SlowReadiness].Containers[0].ReadinessProbe.InitialDelaySeconds != slowReadinessSeconds {
		t.Errorf("slow: %+v", pods[SlowReadiness])
	}
	if probe := pods[Memory].Containers[0].ReadinessProbe.HTTPGet; probe.Path == "/" {
		t.Error("a probe would take memory")
	}
	if err := new(Load).Set("other"); err == nil {
		t.Error("another load was taken")
	}
}
