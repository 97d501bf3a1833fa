package podcache

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

var yes = true

// typical is a pod with all fields that API servers, schedulers and kubelets write.
func typical(i int) *corev1.Pod {
	name := fmt.Sprintf("web-%d-%d", i/2, i)
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example/shop/" + name + ":1.2.3",
			Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("256Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
				ReadOnly: true}},
		}
	}
	started := metav1.Now()
	state := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Ready: true, Started: &yes,
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
			ImageID: "registry.example/shop@sha256:0123456789abcdef", ContainerID: "containerd://" + name,
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(i), Generation: 1,
			CreationTimestamp: started,
			Labels:            map[string]string{"app": fmt.Sprintf("web-%d", i/2), "pod-template-hash": "5f76cfc7f7"},
			Annotations: map[string]string{
				"vpaUpdates": "Pod resources updated by web: container 0: cpu request", "checksum/config": "0123456789abcdef",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("web-%d-5f76cfc7f7", i/2), UID: "owner",
				Controller: &yes,
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet",
				FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 1500))}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%100), Containers: []corev1.Container{container("app"), container("proxy")},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &started, QOSClass: corev1.PodQOSBurstable, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: started}},
			ContainerStatuses: []corev1.ContainerStatus{state("app"), state("proxy")},
		},
	}
}

func translated(t *testing.T, by cache.TransformFunc, full *corev1.Pod) (any, *observe.Pod) {
	t.Helper()
	made, err := by(full)
	if err != nil {
		t.Fatal(err)
	}
	pod, ok := made.(*observe.Pod)
	if !ok {
		t.Fatalf("%T", made)
	}
	return made, pod
}

// Both sides read the same from a shared pod as from one of their own.
func TestSharedServesBothSides(t *testing.T) {
	evicted := typical(3)
	evicted.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: slim.Evicted,
		Message: "The node was low on resource: memory. Container app was using 1Gi, request is 128Mi.",
	}
	for name, full := range map[string]*corev1.Pod{"typical": typical(1),
		"with everything": eventful(), "evicted": evicted, "empty": {}} {
		t.Run(name, func(t *testing.T) { wantSharedLikeOwn(t, full) })
	}
}

// eventful is a pod with many fields to keep.
func eventful() *corev1.Pod {
	p := typical(2)
	now, always := metav1.Now(), corev1.ContainerRestartPolicyAlways
	p.DeletionTimestamp, p.Generation = &now, 7
	p.Annotations["vpaCpuStartupBoost/app"] = `{"requests":{"cpu":"100m"}}`
	p.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: &always}}
	p.Spec.Containers[0].Args = []string{"-XX:MaxRAMPercentage=75"}
	p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory",
		RestartPolicy: corev1.RestartContainer}}
	p.Spec.Priority = new(int32(2_000_001_000))
	p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}
	p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred,
		LastTransitionTime: now,
	})
	p.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
		Reason: "OOMKilled", ExitCode: 137, FinishedAt: now,
	}
	p.Status.ContainerStatuses[1].RestartCount = 1
	p.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
		"cpu": resource.MustParse("50m")}}
	return p
}

func wantSharedLikeOwn(t *testing.T, full *corev1.Pod) {
	t.Helper()
	made, shared := translated(t, toShared, full)
	_, own := translated(t, toObserved, full)
	if diff := cmp.Diff(own.API(), shared.API()); diff != "" || own.Startup != shared.Startup || !own.IsSame(shared) {
		t.Errorf("the horizontal side (-own +shared):\n%s", diff)
	}
	whole, _ := podOf(made)
	made, err := toSlim(full)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := podOf(made)
	if diff := cmp.Diff(observevertical.Pod(plain), observevertical.Pod(whole),
		cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
		t.Errorf("the vertical side (-own +shared):\n%s", diff)
	}
	for i := range plain.Status.Conditions {
		if c := &plain.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Reason, c.Message = "", ""
		}
	}
	if diff := cmp.Diff(plain, whole); diff != "" {
		t.Errorf("the pod of the API (-own +shared):\n%s", diff)
	}
}

// A cache computes the key of its objects, and may transform them again.
func TestSharedPodsInACache(t *testing.T) {
	full := typical(1)
	made, shared := translated(t, toShared, full)
	if key, err := cache.MetaNamespaceKeyFunc(made); err != nil || key != "shop/"+full.Name {
		t.Errorf("key %q, %v", key, err)
	}
	if again, err := toShared(made); err != nil || again != made {
		t.Errorf("twice: %+v, %v", again, err)
	}
	if pod, ok := observedOf(made); !ok || pod != shared {
		t.Error("what is observed of it is another pod")
	}
	if pod, ok := observedOf(full); !ok || !pod.IsSame(shared) || pod.Whole.UID() != string(full.UID) {
		t.Error("what is observed of a pod of the API is another pod")
	}
	if pod, ok := podOf(full); !ok || pod != full {
		t.Error("a pod of the API is another one")
	}
	own, _ := translated(t, toObserved, full)
	if _, ok := podOf(own); ok {
		t.Error("a cache of the horizontal side alone has a pod of the API")
	}
}

// The API server stores 1e999999999 in pods. Readers of the caches may compare it with another quantity.
func TestCachesHoldNoQuantityThatIsRuinousToCompareWith(t *testing.T) {
	full := typical(1)
	full.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1e999999999")
	for name, transform := range map[string]cache.TransformFunc{
		"shared": toShared, "whole": toSlim, "observed": toObserved,
	} {
		made, err := transform(full)
		if err != nil {
			t.Fatal(err)
		}
		pod, ok := podOf(made)
		if observed, isObserved := made.(*observe.Pod); isObserved && !ok {
			pod = observed.API()
		}
		if q := pod.Spec.Containers[0].Resources.Requests["cpu"]; !quantity.IsBounded(&q) {
			t.Errorf("%s: %s", name, q.String())
		}
	}
}

// bytesPerPod is the heap of a cache of pods for each of them.
func bytesPerPod(t *testing.T, transform cache.TransformFunc) float64 {
	t.Helper()
	const pods = 10000
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for i := range pods {
		object, err := transform(typical(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	goruntime.KeepAlive(store)
	return float64(after.HeapAlloc-before.HeapAlloc) / pods
}

// The cache of both sides takes little memory for each pod, of which clusters have many.
func TestBytesPerPod(t *testing.T) {
	for name, tt := range map[string]struct {
		transform cache.TransformFunc
		atMost    float64
	}{
		"the horizontal side alone": {toObserved, 600},
		"both":                      {toShared, 1300},
	} {
		t.Run(name, func(t *testing.T) {
			n := bytesPerPod(t, tt.transform)
			t.Logf("%.0f bytes a pod", n)
			if n > tt.atMost {
				t.Errorf("%.0f bytes a pod, want at most %.0f", n, tt.atMost)
			}
		})
	}
}

// Pods that differ in a field of the template do not share one.
func TestTemplates(t *testing.T) {
	of := func(change func(*corev1.Pod)) *template {
		p := typical(1)
		change(p)
		return templateOf(slim.Pod(p))
	}
	same := of(func(*corev1.Pod) {})
	if again := of(func(p *corev1.Pod) { p.Name, p.Spec.NodeName = "other", "other" }); again != same {
		t.Error("two pods of one template do not share it")
	}
	always := corev1.ContainerRestartPolicyAlways
	for name, change := range map[string]func(*corev1.Pod){
		"another name": func(p *corev1.Pod) { p.Spec.Containers[0].Name = "else" },
		"another request": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(
				"101m")
		},
		"a limit for a request": func(p *corev1.Pod) {
			c := &p.Spec.Containers[0].Resources
			c.Requests, c.Limits = c.Limits,
				c.Requests
		},
		"a container less": func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
		"an init container": func(p *corev1.Pod) {
			p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers[1:], p.Spec.Containers[:1]
		},
		"a sidecar":    func(p *corev1.Pod) { p.Spec.Containers[1].RestartPolicy = &always },
		"a fixed heap": func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"-XX:MaxRAMPercentage=75"} },
		"an overhead": func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1m")}
		},
		"a critical priority":  func(p *corev1.Pod) { p.Spec.Priority = new(int32(2_000_000_000)) },
		"resources of the pod": func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{} },
		"a restart by a resize": func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory",
				RestartPolicy: corev1.RestartContainer}}
		},
		"a name that looks like more": func(p *corev1.Pod) { p.Spec.Containers[0].Name = `app"";"` },
	} {
		if of(change) == same {
			t.Errorf("%s: the same template", name)
		}
	}
	goruntime.KeepAlive(same)
}

// A template without pods is dropped.
func TestTemplatesAreDropped(t *testing.T) {
	p := slim.Pod(typical(1))
	p.Spec.Containers[0].Name = "dropped"
	key := keyOf(&p.Spec)
	goruntime.KeepAlive(templateOf(p))
	isHeld := func() bool {
		templates.mu.Lock()
		defer templates.mu.Unlock()
		_, held := templates.held[key]
		return held
	}
	for range 1000 {
		goruntime.GC()
		goruntime.Gosched()
		if !isHeld() {
			return
		}
	}
	t.Error("it is held for ever")
}
