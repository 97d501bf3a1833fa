package whole

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// world is a namespace with a Deployment for each mode.
type world struct {
	*harness.Namespace
	t *testing.T
	// before are the pods of each Deployment before anything was recommended.
	before map[string]map[types.UID]bool
}

// workloads are the Deployments, each with its mode. By the checkpoint of upstream's recommender after eight days each
// needs 163m of CPU and 163 MB; they request 100m and 64 MiB.
var workloads = []struct {
	name, mode string
	replicas   int32
	// least is a PodDisruptionBudget's minAvailable, if it is not 0.
	least int32
}{
	{"off", "Off", 1, 0},
	{"initial", "Initial", 1, 0},
	{"recreate", "Recreate", 6, 5},
	{"auto", "Auto", 4, 0},
	{"in-place-or", "InPlaceOrRecreate", 2, 0},
	{"in-place", "InPlace", 2, 0},
	{"breaks", "Recreate", 4, 3},
}

// The results of the histograms below: bucket 12 ends at 0.01*(1.05^13-1)/0.05 cores, bucket 10 at 1e7*(1.05^11-1)/0.05
// bytes; and the margin of 15 %.
const (
	wantedMilli  = 204
	wantedMemory = 163_000_000
)

func newWorld(t *testing.T) *world {
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{}}
	for _, one := range workloads {
		w.Create(harness.Workload{Name: one.name, Replicas: &one.replicas}.Deployment())
		if one.least > 0 {
			w.protect(one.name, one.least)
		}
		w.autoscaler(one.name, one.mode)
	}
	for _, one := range workloads {
		w.Eventually(one.name+"'s pods", func(ctx context.Context) error {
			ready := map[types.UID]bool{}
			for _, pod := range w.pods(ctx, one.name) {
				if isReady(&pod) {
					ready[pod.UID] = true
				}
			}
			if w.before[one.name] = ready; len(ready) != int(one.replicas) {
				return fmt.Errorf("%d of %d are ready", len(ready), one.replicas)
			}
			return nil
		})
	}
	return w
}

func (w *world) protect(name string, least int32) {
	w.t.Helper()
	_, err := w.Client.PolicyV1().PodDisruptionBudgets(w.Name).Create(w.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(least)),
			Selector:     &metav1.LabelSelector{MatchLabels: harness.Workload{Name: name}.Labels()},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

// autoscaler creates an object, and the checkpoint that upstream left of it.
func (w *world) autoscaler(name, mode string) {
	w.t.Helper()
	now := time.Now().UTC()
	w.KubectlInput(fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: %[1]q}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]q}
  updatePolicy: {updateMode: %[2]q}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: %[1]s-app}
spec: {vpaObjectName: %[1]q, containerName: app}
status:
  version: v3
  lastUpdateTime: %[3]q
  firstSampleStart: %[4]q
  lastSampleStart: %[3]q
  totalSamplesCount: 11520
  cpuHistogram: {referenceTimestamp: %[5]q, bucketWeights: {"12": 10000}, totalWeight: 20000}
  memoryHistogram: {referenceTimestamp: %[5]q, bucketWeights: {"10": 10000}, totalWeight: 1000}
`, name, mode, now.Format(time.RFC3339), now.Add(-8*24*time.Hour).Format(time.RFC3339), now.Truncate(24*time.Hour).Format(time.RFC3339)),
		"apply", "-f", "-")
}

// pods are a Deployment's that are not being deleted.
func (w *world) pods(ctx context.Context, name string) []corev1.Pod {
	w.t.Helper()
	list, err := w.Client.CoreV1().Pods(w.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Second {
			w.t.Fatal(err)
		}
		return nil // the caller of Eventually describes the wait
	}
	var live []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			live = append(live, list.Items[i])
		}
	}
	return live
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func requests(pod *corev1.Pod) *corev1.ResourceList {
	return &pod.Spec.Containers[0].Resources.Requests
}

// hasWanted reports whether a pod has the requests of the checkpoint.
func hasWanted(pod *corev1.Pod) bool {
	milli, memory := requests(pod).Cpu().MilliValue(), requests(pod).Memory().Value()
	return milli >= wantedMilli-2 && milli <= wantedMilli+2 && memory > wantedMemory*99/100 &&
		memory < wantedMemory*101/100
}

// fresh are the pods that came after the test began.
func (w *world) fresh(ctx context.Context, name string) []corev1.Pod {
	var fresh []corev1.Pod
	for _, pod := range w.pods(ctx, name) {
		if !w.before[name][pod.UID] {
			fresh = append(fresh, pod)
		}
	}
	return fresh
}

// forgotten is the time after which a PodDisruptionBudget no longer expects a pod to go whose eviction ended in the
// middle, as when the evicting process is killed: the disruption controller's DeletionTimeout.
const forgotten = 2 * time.Minute

// awaitFresh waits until so many pods are new, ready and request what is recommended.
func (w *world) awaitFresh(name string, count int) {
	w.t.Helper()
	w.EventuallyWithin(harness.Long+forgotten, fmt.Sprintf("%d new pods of %s", count, name),
		func(ctx context.Context) error {
			fresh := w.fresh(ctx, name)
			for i := range fresh {
				if !isReady(&fresh[i]) || !hasWanted(&fresh[i]) {
					return fmt.Errorf("pod %s requests %v", fresh[i].Name, requests(&fresh[i]))
				}
			}
			if len(fresh) < count {
				return fmt.Errorf("%d", len(fresh))
			}
			return nil
		})
}

// awaitInPlace waits until a Deployment's pods, the same as ever, request what is recommended.
func (w *world) awaitInPlace(name string) {
	w.t.Helper()
	w.Eventually("the pods of "+name+", resized", func(ctx context.Context) error {
		pods := w.pods(ctx, name)
		for i := range pods {
			if !hasWanted(&pods[i]) {
				return fmt.Errorf("pod %s requests %v", pods[i].Name, requests(&pods[i]))
			}
			if _, err := time.Parse(time.RFC3339, pods[i].Annotations["plimsoll.dev/resized-at"]); err != nil {
				return err
			}
		}
		return nil
	})
	if fresh := w.fresh(w.t.Context(), name); len(fresh) != 0 {
		w.t.Errorf("%s has new pods", name)
	}
}

func (w *world) condition(ctx context.Context, name, kind string) (vpav1.VerticalPodAutoscalerCondition, error) {
	object, err := installation.client.Get(ctx, w.Name, name)
	if err != nil {
		return vpav1.VerticalPodAutoscalerCondition{}, err
	}
	for _, c := range object.Status.Conditions {
		if string(c.Type) == kind {
			return c, nil
		}
	}
	return vpav1.VerticalPodAutoscalerCondition{}, fmt.Errorf("no condition %s: %v", kind, object.Status.Conditions)
}

func (w *world) awaitReason(name, reason string) {
	w.t.Helper()
	w.Eventually(name+" says "+reason, func(ctx context.Context) error {
		c, err := w.condition(ctx, name, "UpdateBlocked")
		if err == nil && c.Reason != reason {
			err = fmt.Errorf("%+v", c)
		}
		return err
	})
}

// start runs Plimsoll until the test ends, with more flags than all tests have.
func (w *world) start(more ...string) {
	w.t.Helper()
	w.t.Cleanup(func() { installation.plimsoll.Stop(context.WithoutCancel(w.t.Context())) })
	w.run(more...)
}

func (w *world) run(more ...string) {
	w.t.Helper()
	if err := installation.plimsoll.Start(context.WithoutCancel(w.t.Context()), slices.Concat(flags, more)...); err != nil {
		w.t.Fatal(err)
	}
}

// crash makes the new pods of a Deployment look like programs that end again and again; well ends that.
func (w *world) crash(name string, well bool) {
	w.t.Helper()
	state := fmt.Sprintf(
		`"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":%[1]q,"finishedAt":%[1]q}}`,
		time.Now().UTC().Format(time.RFC3339))
	if well {
		state = fmt.Sprintf(`"state":{"running":{"startedAt":%q}}`, time.Now().UTC().Format(time.RFC3339))
	}
	for _, pod := range w.fresh(w.t.Context(), name) {
		patch := fmt.Sprintf(
			`{"status":{"containerStatuses":[{"name":"app","image":"x","imageID":"x","restartCount":4,"ready":true,%s}]}}`,
			state)
		_, err := w.Client.CoreV1().Pods(w.Name).Patch(w.t.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}, "status")
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestModesOverRestarts: each mode applies the recommendations of upstream's checkpoints to the pods, or does not;
// after a process is killed in the middle of it, the next one does nothing twice or too fast; pods that crash after an
// eviction keep the others unchanged, over restarts too.
func TestModesOverRestarts(t *testing.T) {
	w := newWorld(t)
	showAdmission(w)
	watched := watchReady(w)
	w.start()
	w.Eventually("evictions", func(ctx context.Context) error {
		if len(w.fresh(ctx, "recreate")) == 0 || len(w.fresh(ctx, "breaks")) == 0 {
			return errors.New("not of both")
		}
		return nil
	})
	installation.plimsoll.Kill()
	// The killed process may have evicted one more.
	w.Eventually("no pod starts", func(ctx context.Context) error {
		pods := w.pods(ctx, "breaks")
		if len(pods) != 4 {
			return fmt.Errorf("%d pods", len(pods))
		}
		for _, pod := range pods {
			if !isReady(&pod) {
				return errors.New(pod.Name)
			}
		}
		return nil
	})
	w.crash("breaks", false)
	broken := len(w.fresh(t.Context(), "breaks"))
	if broken == 4 {
		t.Fatal("all pods are new already")
	}

	w.start()
	w.awaitReason("breaks", "CircuitOpen")
	w.checkCircuit("breaks")
	w.awaitFresh("recreate", 6)
	w.awaitFresh("auto", 4)
	w.awaitInPlace("in-place-or")
	w.awaitInPlace("in-place")
	w.checkUntouched("off", "initial")
	w.checkNewPods()

	installation.plimsoll.Kill()
	w.start()
	w.Holds(10*time.Second, "the pods of an open circuit", func(ctx context.Context) error {
		if now := len(w.fresh(ctx, "breaks")); now != broken {
			return fmt.Errorf("%d new pods, %d before the restart", now, broken)
		}
		return nil
	})
	w.crash("breaks", true)
	w.awaitFresh("breaks", 4)
	w.checkHistory()
	watched.check(map[string]int{"recreate": 5, "breaks": 3, "auto": 2})
	if n := unchanged(t); n != 0 {
		t.Errorf("%g pods were admitted unchanged because something went wrong", n)
	}
}

// checkUntouched: the recommendation is in the status, and running pods stay unchanged.
func (w *world) checkUntouched(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if fresh := w.fresh(w.t.Context(), name); len(fresh) != 0 {
			w.t.Errorf("%s has new pods", name)
		}
		for _, pod := range w.pods(w.t.Context(), name) {
			if requests(&pod).Cpu().Cmp(resource.MustParse("100m")) != 0 {
				w.t.Errorf("pod %s requests %v", pod.Name, requests(&pod))
			}
		}
		object, err := installation.client.Get(w.t.Context(), w.Name, name)
		if err != nil || object.Status.Recommendation == nil {
			w.t.Errorf("nothing is recommended for %s, %v", name, err)
		}
	}
}

// checkNewPods: a pod that comes anyway gets what is recommended in mode Initial, and not in mode Off.
func (w *world) checkNewPods() {
	w.t.Helper()
	for _, name := range []string{"initial", "off"} {
		for _, pod := range w.pods(w.t.Context(), name) {
			if err := w.Client.CoreV1().Pods(w.Name).Delete(w.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.awaitFresh("initial", 1)
	w.Eventually("a new pod of off", func(ctx context.Context) error {
		if len(w.fresh(ctx, "off")) != 1 {
			return errors.New("none")
		}
		return nil
	})
	for _, pod := range w.fresh(w.t.Context(), "off") {
		if requests(&pod).Cpu().Cmp(resource.MustParse("100m")) != 0 {
			w.t.Errorf("a new pod in mode Off requests %v", requests(&pod))
		}
	}
}

// checkHistory: two killed processes and their successors have left what upstream knew.
func (w *world) checkHistory() {
	w.t.Helper()
	installation.plimsoll.Stop(w.t.Context())
	found := 0
	err := installation.client.EachCheckpoint(w.t.Context(), w.Name, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		found++
		if c.Status.Version != "v3" || c.Status.TotalSamplesCount <= 11520 || c.Status.CPUHistogram.BucketWeights[12] == 0 {
			w.t.Errorf("checkpoint %s: version %s, %d samples, weights %v", c.Name, c.Status.Version, c.Status.TotalSamplesCount,
				c.Status.CPUHistogram.BucketWeights)
		}
	})
	if err != nil || found != len(workloads) {
		w.t.Errorf("%d checkpoints, %v", found, err)
	}
	w.start()
}

// A LimitRange of pods, and a sidecar that another webhook injected and that has no recommendation: upstream's updater
// and its admission controller panic.
func TestInjectedSidecarUnderALimitRange(t *testing.T) {
	w := &world{Namespace: namespace(t), t: t, before: map[string]map[types.UID]bool{}}
	showAdmission(w)
	app, injected := harness.Container("app", "100m", "64Mi"), harness.Container("injected", "50m", "32Mi")
	app.Resources.Limits, injected.Resources.Limits = app.Resources.Requests, injected.Resources.Requests
	w.Create(harness.Workload{Name: "meshed", Replicas: ptr.To[int32](2), Containers: []corev1.Container{
		injected, app, {Name: "bare", Image: "registry.example/simulated:1"},
	}}.Deployment())
	_, err := w.Client.CoreV1().LimitRanges(w.Name).Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypePod, Max: corev1.ResourceList{"cpu": resource.MustParse("2")},
				Min: corev1.ResourceList{"cpu": resource.MustParse("10m")}},
			{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("200m")},
				Max: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Eventually("two pods", func(ctx context.Context) error {
		pods := w.pods(ctx, "meshed")
		w.before["meshed"] = map[types.UID]bool{}
		for i := range pods {
			w.before["meshed"][pods[i].UID] = isReady(&pods[i])
		}
		if len(pods) != 2 || !isReady(&pods[0]) || !isReady(&pods[1]) {
			return fmt.Errorf("%d", len(pods))
		}
		return nil
	})
	w.autoscaler("meshed", "Recreate")
	// The container app has no history but that of the checkpoint.
	w.start()
	w.Eventually("pods with what is recommended for the container app", func(ctx context.Context) error {
		fresh := w.fresh(ctx, "meshed")
		if len(fresh) < 2 {
			return fmt.Errorf("%d are new", len(fresh))
		}
		for i := range fresh {
			milli := fresh[i].Spec.Containers[1].Resources.Requests.Cpu().MilliValue()
			if milli < wantedMilli-2 || milli > wantedMilli+2 {
				return fmt.Errorf("%s requests %dm", fresh[i].Name, milli)
			}
		}
		return nil
	})
	lines, err := w.LogLines("a defect")
	if err != nil || len(lines) != 0 {
		t.Errorf("the log says %v, %v", lines, err)
	}
	if c, err := w.condition(t.Context(), "meshed", "RecommendationProvided"); err != nil ||
		!strings.EqualFold(string(c.Status), "true") {
		t.Errorf("%+v, %v", c, err)
	}
	if n := unchanged(t); n != 0 {
		t.Errorf("%g pods were admitted unchanged because something went wrong", n)
	}
}

// The horizontal side scales on the caches that it shares with the vertical one.
func TestHorizontalBesideVertical(t *testing.T) {
	s := namespace(t)
	hpa := harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50)))
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(1), hpa)
	if err := installation.plimsoll.Start(context.WithoutCancel(t.Context()), flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { installation.plimsoll.Stop(context.WithoutCancel(t.Context())) })
	s.SetLoad("web", 17) // 170m of use, of 50m for each pod: between three and four
	s.AwaitReplicas(harness.Deployment, "web", 4)
}
