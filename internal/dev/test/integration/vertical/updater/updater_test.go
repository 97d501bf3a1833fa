package updater

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	"github.com/plimsoll-dev/plimsoll/internal/kube/podchange"
)

// world is a namespace with a Deployment "web" of pods that are ready.
type world struct {
	*harness.Namespace
	t *testing.T
}

func newWorld(t *testing.T, replicas int32, change func(*harness.Workload)) *world {
	t.Helper()
	t.Parallel()
	w := &world{Namespace: namespace(t), t: t}
	workload := harness.Workload{Replicas: ptr.To(replicas)}
	if change != nil {
		change(&workload)
	}
	w.Create(workload.Deployment())
	w.Eventually("ready pods", func(ctx context.Context) error {
		if ready := w.ready(ctx); len(ready) != int(replicas) {
			return fmt.Errorf("%d of %d", len(ready), replicas)
		}
		return nil
	})
	return w
}

func (w *world) pods(ctx context.Context) []corev1.Pod {
	w.t.Helper()
	list, err := w.Client.CoreV1().Pods(w.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		if ctx.Err() == nil {
			w.t.Fatal(err)
		}
		return nil // the caller of Eventually describes the wait
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// ready are the pods that are, by their UIDs.
func (w *world) ready(ctx context.Context) map[types.UID]corev1.Pod {
	w.t.Helper()
	ready := map[types.UID]corev1.Pod{}
	for _, pod := range w.pods(ctx) {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready[pod.UID] = pod
			}
		}
	}
	return ready
}

// recommend makes the VerticalPodAutoscaler "web" that recommends so much CPU for the container "app". More is put into
// its updatePolicy.
func (w *world) recommend(mode, cpu, more string) {
	w.t.Helper()
	w.KubectlInput(fmt.Sprintf(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"web"},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":%q%s}}}`, mode, more),
		"create", "-f", "-")
	w.recommendNow(cpu)
}

func (w *world) recommendNow(cpu string) {
	w.t.Helper()
	w.Kubectl("patch", "vpa", "web", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":%q},"lowerBound":{"cpu":%q},"upperBound":{"cpu":%q}}]}}}`,
		cpu, cpu, cpu))
}

func (w *world) vpa() *vpav1.VerticalPodAutoscaler {
	w.t.Helper()
	object := &vpav1.VerticalPodAutoscaler{}
	if err := json.Unmarshal([]byte(w.Kubectl("get", "vpa", "web", "-o", "json")), object); err != nil {
		w.t.Fatal(err)
	}
	return object
}

// awaitCondition waits for the updater's condition.
func (w *world) awaitCondition(status corev1.ConditionStatus, reason string) {
	w.t.Helper()
	w.Eventually("condition UpdateBlocked "+reason, func(context.Context) error {
		conditions := w.vpa().Status.Conditions
		for _, c := range conditions {
			if c.Type == "UpdateBlocked" && c.Status == status && c.Reason == reason && c.Message != "" {
				return nil
			}
		}
		return fmt.Errorf("%+v", conditions)
	})
}

func (w *world) awaitResized(cpu string, before map[types.UID]corev1.Pod) {
	w.t.Helper()
	want := resource.MustParse(cpu)
	w.Eventually("pods that were resized in place", func(ctx context.Context) error {
		now := w.ready(ctx)
		if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(now))) {
			w.t.Fatalf("the pods are others: %v, before %v", slices.Collect(maps.Keys(now)), slices.Collect(maps.Keys(before)))
		}
		for _, pod := range now {
			status := pod.Status.ContainerStatuses[0].Resources
			if pod.Spec.Containers[0].Resources.Requests.Cpu().Cmp(want) != 0 || status == nil ||
				status.Requests.Cpu().Cmp(want) != 0 {
				return fmt.Errorf("pod %s requests %s and has %v", pod.Name, pod.Spec.Containers[0].Resources.Requests.Cpu(),
					status)
			}
			if pod.Annotations["vpaInPlaceUpdated"] != "true" {
				return fmt.Errorf("pod %s has the annotations %v", pod.Name, pod.Annotations)
			}
		}
		return nil
	})
}

// awaitEvicted waits until a pod was evicted, with events on both objects.
func (w *world) awaitEvicted(before map[types.UID]corev1.Pod) {
	w.t.Helper()
	w.Eventually("an evicted pod", func(ctx context.Context) error {
		for _, pod := range w.pods(ctx) {
			if _, old := before[pod.UID]; !old {
				return nil
			}
		}
		return fmt.Errorf("the pods are the same")
	})
	for kind, reason := range map[string]string{"VerticalPodAutoscaler": "EvictedPod", "Pod": "EvictedByVPA"} {
		w.Eventually("event "+reason, func(ctx context.Context) error {
			list, err := w.Client.CoreV1().Events(w.Name).List(ctx,
				metav1.ListOptions{FieldSelector: "reason=" + reason + ",involvedObject.kind=" + kind})
			if err == nil && (len(list.Items) == 0 || list.Items[0].Source.Component != "vpa-updater") {
				err = fmt.Errorf("%v", list.Items)
			}
			return err
		})
	}
}

// keepsPods checks that for a number of passes the pods stay.
func (w *world) keepsPods(p *process, before map[types.UID]corev1.Pod) {
	w.t.Helper()
	p.passes(w.Namespace, 4)
	if now := w.ready(w.t.Context()); !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(now))) {
		w.t.Errorf("the pods are others")
	}
}

func TestModesThatChangeNothing(t *testing.T) {
	for _, mode := range []string{"Off", "Initial"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, 2, nil)
			before := w.ready(t.Context())
			p := start(t, w.Namespace)
			w.recommend(mode, "500m", "")
			w.keepsPods(p, before)
			for _, pod := range w.pods(t.Context()) {
				if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "100m" {
					t.Errorf("pod %s requests %s", pod.Name, cpu)
				}
			}
		})
	}
}

func TestRecreateEvicts(t *testing.T) {
	for _, mode := range []string{"Recreate", "Auto"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, 3, nil)
			before := w.ready(t.Context())
			p := start(t, w.Namespace)
			w.recommend(mode, "500m", "")
			w.awaitEvicted(before)
			w.Eventually("the metric", func(ctx context.Context) error {
				evicted, err := p.metric(ctx, "vpa_updater_evicted_pods_total", []string{`update_mode="` +
					mode + `"`, `vpa_name="web"`})
				if err == nil && evicted == 0 {
					err = fmt.Errorf("no evicted pods")
				}
				return err
			})
		})
	}
}

// Pods are resized, and never evicted.
func TestResizesInPlace(t *testing.T) {
	for _, mode := range []string{"InPlace", "InPlaceOrRecreate"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, 2, nil)
			before := w.ready(t.Context())
			p := start(t, w.Namespace)
			w.recommend(mode, "150m", "")
			w.awaitResized("150m", before)
			w.recommendNow("60m")
			w.awaitResized("60m", before)
			w.awaitCondition(corev1.ConditionFalse, "NothingChanges")
			if evicted, err := p.metric(t.Context(), "vpa_updater_evicted_pods_total", nil); err != nil || evicted != 0 {
				t.Errorf("%g pods were evicted, %v", evicted, err)
			}
		})
	}
}

// InPlaceOrRecreate resizes where the API server can, and evicts where it cannot, as before Kubernetes 1.33.
func TestInPlaceOrRecreateOnEachVersion(t *testing.T) {
	w := newWorld(t, 2, nil)
	before := w.ready(t.Context())
	start(t, w.Namespace)
	w.recommend("InPlaceOrRecreate", "150m", "")
	if podchange.NewSupport(w.Client.Discovery()).Supported() {
		w.awaitResized("150m", before)
	} else {
		w.awaitEvicted(before)
	}
}

// A node refuses. InPlace keeps the pods and reports that; InPlaceOrRecreate evicts them.
func TestInfeasibleResize(t *testing.T) {
	refuses := func(workload *harness.Workload) {
		workload.Annotations = map[string]string{"sim.plimsoll.dev/resize": "Infeasible"}
	}
	t.Run("InPlace", func(t *testing.T) {
		w := newWorld(t, 2, refuses)
		before := w.ready(t.Context())
		p := start(t, w.Namespace)
		w.recommend("InPlace", "150m", "")
		w.awaitCondition(corev1.ConditionTrue, "InfeasibleBefore")
		w.keepsPods(p, before)
	})
	t.Run("InPlaceOrRecreate", func(t *testing.T) {
		w := newWorld(t, 2, refuses)
		before := w.ready(t.Context())
		start(t, w.Namespace)
		w.recommend("InPlaceOrRecreate", "150m", "")
		w.awaitEvicted(before)
	})
}

// A resize that cannot fit on the node is not requested.
func TestNodeTooSmall(t *testing.T) {
	w := newWorld(t, 2, nil)
	before := w.ready(t.Context())
	p := start(t, w.Namespace)
	w.recommend("InPlace", "5000", "")
	w.awaitCondition(corev1.ConditionTrue, "NodeTooSmall")
	w.keepsPods(p, before)
	for _, pod := range w.pods(t.Context()) {
		if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "100m" {
			t.Errorf("pod %s requests %s", pod.Name, cpu)
		}
	}
}

func TestPodDisruptionBudgetHolds(t *testing.T) {
	w := newWorld(t, 3, nil)
	_, err := w.Client.PolicyV1().PodDisruptionBudgets(w.Name).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(3)), Selector: &metav1.LabelSelector{MatchLabels: harness.Workload{}.Labels()},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := w.ready(t.Context())
	p := start(t, w.Namespace)
	w.recommend("Recreate", "500m", "")
	w.awaitCondition(corev1.ConditionTrue, "PodDisruptionBudget")
	w.keepsPods(p, before)
	if failed, err := p.metric(t.Context(), "vpa_updater_failed_eviction_attempts_total",
		[]string{`reason="EvictionError"`}); err != nil || failed == 0 {
		t.Errorf("%g failed evictions, %v", failed, err)
	}
}

func TestMinReplicas(t *testing.T) {
	w := newWorld(t, 1, nil)
	before := w.ready(t.Context())
	p := start(t, w.Namespace)
	w.recommend("Recreate", "500m", "")
	w.awaitCondition(corev1.ConditionTrue, "MinReplicas")
	w.keepsPods(p, before)
	w.Kubectl("patch", "vpa", "web", "--type=merge", "-p", `{"spec":{"updatePolicy":{"minReplicas":1}}}`)
	w.awaitEvicted(before)
}

func TestEvictionRequirements(t *testing.T) {
	w := newWorld(t, 2, nil)
	before := w.ready(t.Context())
	p := start(t, w.Namespace)
	w.recommend("Recreate", "50m",
		`,"evictionRequirements":[{"resources":["cpu"],"changeRequirement":"TargetHigherThanRequests"}]`)
	w.awaitCondition(corev1.ConditionTrue, "EvictionRequirements")
	w.keepsPods(p, before)
}

// One eviction at once, then one each five seconds: the budget alone would allow three at a time.
func TestEvictionRateLimit(t *testing.T) {
	w := newWorld(t, 6, nil)
	p := start(t, w.Namespace, "--eviction-rate-limit=0.2", "--eviction-rate-burst=1", "--eviction-tolerance=1",
		"--vertical-divergences=none") // Nothing gives new pods what is recommended here: one eviction would be all.
	w.recommend("Recreate", "500m", "")
	evictions := func() float64 {
		t.Helper()
		n, err := p.metric(t.Context(), "vpa_updater_evicted_pods_total", nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	w.Eventually("a first eviction", func(context.Context) error {
		if evictions() == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	began := time.Now()
	w.Eventually("two more", func(context.Context) error {
		if n := evictions(); n < 3 {
			return fmt.Errorf("%g", n)
		}
		return nil
	})
	if took := time.Since(began); took < 6*time.Second {
		t.Errorf("three evictions within %s, at one each five seconds", took)
	}
}

// Without the admission controller an evicted pod would come back as it was.
func TestStaleLease(t *testing.T) {
	w := newWorld(t, 2, nil)
	before := w.ready(t.Context())
	// By its time alone, as upstream: a renewal that is observed is fresh.
	p := start(t, w.Namespace, "--admission-controller-status-lease-timeout=1ns", "--vertical-divergences=none")
	w.recommend("Recreate", "500m", "")
	w.awaitCondition(corev1.ConditionTrue, "LeaseStale")
	w.keepsPods(p, before)
	if skipped, err := p.metric(t.Context(), "vpa_updater_admission_controller_status_invalid_total",
		[]string{`reason="invalid"`}); err != nil || skipped == 0 {
		t.Errorf("%g passes were left out, %v", skipped, err)
	}
}

// A LimitRange of pods and a container without a recommendation: upstream's updater panics.
func TestLimitRangeWithInjectedSidecar(t *testing.T) {
	w := newWorld(t, 2, func(workload *harness.Workload) {
		bare := corev1.Container{Name: "bare", Image: "registry.example/simulated:1"}
		app, injected := harness.Container("app", "100m", "64Mi"), harness.Container("injected", "50m", "32Mi")
		app.Resources.Limits, injected.Resources.Limits = app.Resources.Requests, injected.Resources.Requests
		workload.Containers = []corev1.Container{app, injected, bare}
	})
	_, err := w.Client.CoreV1().LimitRanges(w.Name).Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Min: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := w.ready(t.Context())
	p := start(t, w.Namespace)
	w.recommend("Recreate", "200m", "")
	w.awaitEvicted(before)
	p.passes(w.Namespace, 2)
	if n, err := p.metric(t.Context(), "plimsoll_updater_panics_total", nil); err != nil || n != 0 {
		t.Errorf("%g panics, %v", n, err)
	}
}

// A start-up boost ends when the pod is ready and its time is over, whatever the mode.
func TestStartupBoostEnds(t *testing.T) {
	w := newWorld(t, 2, func(workload *harness.Workload) {
		workload.Annotations = map[string]string{"vpaCpuStartupBoost/app": `{"requests":{"cpu":"40m","memory":"64Mi"},"limits":{}}`}
	})
	before := w.ready(t.Context())
	start(t, w.Namespace)
	w.KubectlInput(`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"web"},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":"Off"},
		"startupBoost":{"cpu":{"type":"Factor","factor":2,"durationSeconds":1}}}}`, "create", "-f", "-")
	w.awaitResized("40m", before)
	for _, pod := range w.pods(t.Context()) {
		for name := range pod.Annotations {
			if strings.HasPrefix(name, "vpaCpuStartupBoost/") {
				t.Errorf("pod %s still has %s", pod.Name, name)
			}
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	p := start(t, s)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+p.address+"/health-check", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("/health-check answers %s", response.Status)
	}
}
