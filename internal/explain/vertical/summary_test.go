package vertical

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// TestShortForm: no more than six lines follow the sentence, with the recommendations, the pod that changes first and
// why, and the updater.
func TestShortForm(t *testing.T) {
	k := known()
	var got bytes.Buffer
	if err := explainedBy(t, k, divergence.Default).WriteText(&got, Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `Recommends cpu 200m and memory 400Mi for container app; the next pass changes 1 of 3 pods (the 2 others ` +
		`need no change): web-1 would be evicted, because app requests cpu 50m, less than the lower bound of 150m.
  object         VerticalPodAutoscaler shop/web at 2026-11-20T12:00:00Z
  target         Deployment/web: 3 pods; mode Recreate
  checkpoint     cannot be read: web-old: version "v1" instead of v3
  container      app: cpu 200m, lower bound 150m, upper bound 200m; memory 400Mi, lower bound 300Mi, upper bound 1024Mi
  pod            web-1 requests app cpu 50m and memory 400Mi
  updater        state unknown: the file has none; assumed to have just started
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLeftOut: what the six lines have no place for is counted, and --verbose prints each of it.
func TestLeftOut(t *testing.T) {
	k := known()
	recommended := &k.Object.Status.Recommendation.ContainerRecommendations
	for _, name := range []string{"log", "mesh", "proxy"} {
		side := (*recommended)[0]
		side.ContainerName = name
		*recommended = append(*recommended, side)
	}
	older := *k.Checkpoints[1]
	older.Name = "web-older"
	k.Checkpoints = append(k.Checkpoints, &older)
	e := explainedBy(t, k, divergence.Default)
	var short, verbose bytes.Buffer
	if err := errors.Join(e.WriteText(&short, Style{}), e.WriteText(&verbose, Style{Verbose: true})); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(short.String()), "\n")
	const want = "  left out       3 containers, 1 checkpoint; --verbose prints all"
	if got := lines[len(lines)-1]; got != want || len(lines) != 1+mostNumbers+1 {
		t.Errorf("%d lines, the last one %q, want %q", len(lines), got, want)
	}
	for _, want := range []string{"log: ", "mesh: ", "proxy: ", "cpu 200m, lower bound 150m", "web-older"} {
		if !strings.Contains(verbose.String(), want) {
			t.Errorf("--verbose lacks %q:\n%s", want, &verbose)
		}
	}
}

// TestOutside: the sentence names the request that is outside of the bounds, or missing, and which container ran out of
// memory.
func TestOutside(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"app requests memory 64Mi, less than the lower bound of 300Mi": requesting(resources("180m", "64Mi")),
		"app requests cpu 500m, more than the upper bound of 200m":     requesting(resources("500m", "400Mi")),
		"app requests no memory": requesting(corev1.ResourceList{
			corev1.ResourceCPU: resources("180m", "1")[corev1.ResourceCPU],
		}),
		"app requests memory 64Mi, less than the lower bound of 300Mi (app of web-1 was OOM-killed at " +
			"11:59:00)": func(pod *corev1.Pod) {
			requesting(resources("180m", "64Mi"))(pod)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "app", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(noon.Add(-time.Minute)),
					StartedAt: metav1.NewTime(noon.Add(-time.Hour)),
				}},
			}}
		},
	} {
		step := known()
		step.Pods, step.Snapshot.Target.Replicas = step.Pods[:1], 1
		step.Object.Spec.UpdatePolicy.MinReplicas = ptr.To[int32](1)
		change(step.Pods[0])
		got := explainedBy(t, step, divergence.Default).Summary()
		if !strings.HasSuffix(got, "because "+want+".") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func requesting(requests corev1.ResourceList) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = requests }
}

// TestOutsideForAPod: a LimitRange changes the bounds for a pod. What is outside of these is named, with why the max of
// the LimitRange is not what the pod gets.
func TestOutsideForAPod(t *testing.T) {
	step := known()
	for _, pod := range step.Pods {
		pod.Spec.Containers[0].Resources.Requests = resources("100m", "64Mi")
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			corev1.ResourceCPU: resources("150m", "1")[corev1.ResourceCPU],
		}
	}
	step.Ranges = rangeOf(corev1.LimitTypeContainer, step.Pods[0].Spec.Containers[0].Resources.Limits)
	e := explainedBy(t, step, divergence.Default)
	if got, want := e.Summary(), "because app requests memory 64Mi, less than the lower bound of 300Mi."; !strings.HasSuffix(
		got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const kept = " for container app, of which web-1 gets cpu 100m by the max of a LimitRange of containers, which is 150m " +
		"for the limit, 1.5 times the request; the next pass "
	if got := e.Summary(); !strings.Contains(got, kept) {
		t.Errorf("got  %s\nwant %s", got, kept)
	}
	const want = "app cpu: 200m published; 100m by the max of a LimitRange of containers, which is 150m for the limit, 1.5 " +
		"times the request"
	if got := e.capSentences(&e.Update.Pods[0]); len(got) != 1 || got[0] != want {
		t.Errorf("got  %q\nwant %s", got, want)
	}
}

// TestMinimum: where maxAllowed is below the recommender's minimum, the sentence has what usage needs.
func TestMinimum(t *testing.T) {
	step := known()
	step.Object.Spec.ResourcePolicy.ContainerPolicies[0].MaxAllowed = resources("200m", "100Mi")
	status := &step.Object.Status.Recommendation.ContainerRecommendations[0]
	status.Target, status.UncappedTarget = resources("200m", "100Mi"), resources("203m", "250Mi")
	status.LowerBound, status.UpperBound = resources("150m", "100Mi"), resources("200m", "100Mi")
	step.Checkpoints[0].Status.MemoryHistogram.BucketWeights = map[int]uint32{10: 10000}
	for want, uncapped := range map[string]string{
		" (250Mi without maxAllowed, which is the recommender's minimum: usage needs 155.8Mi) for ": "250Mi",
		" (260Mi without maxAllowed) for ": "260Mi",
	} {
		status.UncappedTarget = resources("203m", uncapped)
		if got := explainedBy(t, step, divergence.Default).Summary(); !strings.Contains(got, " and memory 100Mi"+want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestAllowed: the sentence has what minAllowed and maxAllowed change.
func TestAllowed(t *testing.T) {
	step := known()
	step.Object.Spec.ResourcePolicy.ContainerPolicies[0].MinAllowed = resources("1m", "400Mi")
	step.Object.Status.Recommendation.ContainerRecommendations[0].UncappedTarget = resources("203m", "250Mi")
	const want = "Recommends cpu 200m (203m without maxAllowed) and memory 400Mi (250Mi without minAllowed) for container app;"
	if got := explainedBy(t, step, divergence.Default).Summary(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWithoutSamples: numbers that rest on no samples, or on earlier ones, are said to.
func TestWithoutSamples(t *testing.T) {
	step := known()
	step.Object.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{
		Type: vpav1.VerticalPodAutoscalerConditionType(status.MetricsMissing.String()), Status: corev1.ConditionTrue,
	}}
	for want, checkpoints := range map[string][]*vpav1.VerticalPodAutoscalerCheckpoint{
		"by 1440 earlier samples of CPU: neither the kubelets nor metrics.k8s.io report the pods":             step.Checkpoints,
		"without samples: neither the kubelets nor metrics.k8s.io report the pods, and no checkpoint has any": nil,
	} {
		step.Checkpoints = checkpoints
		got := explainedBy(t, step, divergence.Default).Summary()
		if !strings.Contains(got, " for container app, "+want+";") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestLittleHistory: numbers that rest on little history are said to.
func TestLittleHistory(t *testing.T) {
	step := known()
	step.Object.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{
		Type: "LowConfidence", Status: corev1.ConditionTrue,
	}}
	const want = "Recommends cpu 200m and memory 400Mi for container app, with little history so far; "
	if got := explainedBy(t, step, divergence.Default).Summary(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBudgetThatNeverAllows: a PodDisruptionBudget that allows no eviction goes before what ends by itself, and is said
// to stay if it wants all pods.
func TestBudgetThatNeverAllows(t *testing.T) {
	for why, change := range map[string]func(*snapshotvertical.Updater){
		"the cluster's budget": func(u *snapshotvertical.Updater) { u.EvictionsLeft = ptr.To(0) },
		"the rate": func(u *snapshotvertical.Updater) {
			u.Evictions = disruption.NewBucket(0.001, 1).Empty(noon.Add(-20 * time.Second))
		},
	} {
		step := poor()
		budget := protect(step, 0)
		budget.Name, budget.Status.ExpectedPods = "web", 3
		step.Snapshot.Updater = updater()
		change(step.Snapshot.Updater)
		const never = "3 of 3 pods need to be changed, but PodDisruptionBudget web never allows an eviction, because it " +
			"wants 3 of 3 pods healthy"
		if got := explainedBy(t, step, divergence.Default).Summary(); !strings.HasSuffix(got, never+".") {
			t.Errorf("%s: got  %s\nwant %s", why, got, never)
		}
		const want = "3 of 3 pods need to be changed, but not now: PodDisruptionBudget web does not allow an eviction"
		budget.Status.DesiredHealthy = 2
		if got := explainedBy(t, step, divergence.Default).Summary(); !strings.HasSuffix(got, want+".") {
			t.Errorf("%s: got  %s\nwant %s", why, got, want)
		}
	}
}

// TestResizeBeside: where the spec requests what the node has not done, both are said.
func TestResizeBeside(t *testing.T) {
	const mebi = 1 << 20
	for resize, want := range map[vertical.ResizeStatus]string{
		vertical.ResizeInfeasible: "app cpu 100m and memory 64Mi (the spec asks for cpu 203m and memory 250Mi, which the node cannot do)",
		vertical.ResizeNone:       "app cpu 100m and memory 64Mi (the spec asks for cpu 203m and memory 250Mi)",
	} {
		pod := vertical.Pod{Resize: resize, Containers: []vertical.PodContainer{{
			Name: "app", Requests: vertical.Of(100, 64*mebi),
			Spec: vertical.Resized{Requests: vertical.Of(203, 250*mebi)},
		}}}
		if got := RequestsText(&update.Verdict{Pod: &pod}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
