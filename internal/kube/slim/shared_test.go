package slim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	core "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	sizes "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// typical is a pod with all that API servers, schedulers and kubelets write into one.
func typical(i int) *corev1.Pod {
	name := fmt.Sprintf("web-%d-%d", i/2, i)
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example/shop/" + name + ":1.2.3", Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("256Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		}
	}
	started := metav1.Now()
	state := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Ready: true, Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
			ImageID: "registry.example/shop@sha256:0123456789abcdef", ContainerID: "containerd://" + name,
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(i), Generation: 1, CreationTimestamp: started,
			Labels:      map[string]string{"app": fmt.Sprintf("web-%d", i/2), "pod-template-hash": "5f76cfc7f7"},
			Annotations: map[string]string{"vpaUpdates": "Pod resources updated by web: container 0: cpu request", "checksum/config": "0123456789abcdef"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("web-%d-5f76cfc7f7", i/2), UID: "owner", Controller: &yes,
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 1500))}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%100), Containers: []corev1.Container{container("app"), container("proxy")}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &started, QOSClass: corev1.PodQOSBurstable, PodIP: "10.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started}},
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

// Both sides see in a shared pod what they see in one of their own.
func TestSharedHoldsWhatBothSidesLookAt(t *testing.T) {
	full := typical(1)
	made, shared := translated(t, Shared, full)
	_, own := translated(t, Horizontal, full)
	if diff := cmp.Diff(own.API(), shared.API()); diff != "" || own.Startup != shared.Startup || !own.IsSame(shared) {
		t.Errorf("the horizontal side (-own +shared):\n%s", diff)
	}
	whole, ok := Pod(made)
	slim, err := Transform(full)
	if err != nil || !ok {
		t.Fatal(err)
	}
	theirs, _ := Pod(slim)
	if diff := cmp.Diff(sizes.Pod(theirs), sizes.Pod(whole), cmp.AllowUnexported(core.Amounts{})); diff != "" {
		t.Errorf("the vertical side (-own +shared):\n%s", diff)
	}
}

// A cache asks for the key of what it holds, and may translate it again.
func TestSharedPodsInACache(t *testing.T) {
	full := typical(1)
	made, shared := translated(t, Shared, full)
	if key, err := cache.MetaNamespaceKeyFunc(made); err != nil || key != "shop/"+full.Name {
		t.Errorf("key %q, %v", key, err)
	}
	if again, err := Shared(made); err != nil || again != made {
		t.Errorf("twice: %+v, %v", again, err)
	}
	if Observed(made) != shared || !Observed(full).IsSame(shared) || Observed(nil) != nil {
		t.Error("what is observed of it is another pod")
	}
	if pod, ok := Pod(full); !ok || pod != full {
		t.Error("a pod that nobody transformed")
	}
	own, _ := translated(t, Horizontal, full)
	if _, ok := Pod(own); ok {
		t.Error("a pod of the horizontal side alone has no whole one")
	}
}

// One cache for both sides is smaller than two.
func TestSharedTakesLessThanTwo(t *testing.T) {
	const pods = 2000
	bytes := func(transforms ...cache.TransformFunc) uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var held []any
		for _, transform := range transforms {
			for i := range pods {
				// Each informer decodes its own.
				object, err := transform(typical(i))
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, object)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(held)
		return after.HeapAlloc - before.HeapAlloc
	}
	// What pods have in common is interned, and must not count for whoever comes first.
	bytes(Horizontal)
	two, one := bytes(Horizontal, Transform), bytes(Shared)
	t.Logf("%d pods take %d kB in two caches, %d kB in one", pods, two/1000, one/1000)
	if one >= two {
		t.Errorf("one cache takes %d bytes, two take %d", one, two)
	}
}
