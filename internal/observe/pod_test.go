package observe

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func TestPodsShareWhatTheyHaveInCommon(t *testing.T) {
	of := func(name string, change func(*corev1.Pod)) *Pod {
		pod := podOf(name, "100m", "200m")
		pod.UID, pod.Labels = "uid", map[string]string{"app": "web", "pod-template-hash": "1"}
		change(pod)
		return PodOf(pod)
	}
	a := of("a", func(*corev1.Pod) {})
	for reason, b := range map[string]*Pod{
		"another request":   of("b", func(p *corev1.Pod) { p.Spec.Containers[1].Resources.Requests = nil }),
		"another name":      of("b", func(p *corev1.Pod) { p.Spec.Containers[1].Name = "other" }),
		"a container less":  of("b", func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }),
		"for the whole pod": of("b", func(p *corev1.Pod) { p.Spec.Resources = &p.Spec.Containers[0].Resources }),
	} {
		if a.requests == b.requests {
			t.Errorf("%s: the requests are shared", reason)
		}
	}
	same := of("b", func(*corev1.Pod) {})
	if a.requests != same.requests || a.Labels() != same.Labels() || !a.IsSame(same) {
		t.Error("pods of one template share nothing")
	}
	if other := of("b", func(p *corev1.Pod) { p.UID = "other" }); a.IsSame(other) {
		t.Error("a pod of another UID is the same")
	}
}

func TestLabelsAreThoseOfTheMap(t *testing.T) {
	text := rapid.StringMatching(`[a-z/]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.MapOf(text, text).Draw(t, "set")
		l := LabelsOf(set)
		if got := maps.Collect(l.All()); !maps.Equal(got, set) {
			t.Fatalf("got %v", got)
		}
		key := text.Draw(t, "key")
		want, has := set[key]
		if got, exists := l.Lookup(key); got != want || exists != has || l.Has(key) != has || l.Get(key) != want {
			t.Fatalf("%q: %q %v", key, got, exists)
		}
		if l != LabelsOf(maps.Clone(set)) {
			t.Fatal("equal labels differ")
		}
	})
}

// An informer distinguishes its objects by name, and their states by version.
func TestPodInInformers(t *testing.T) {
	pod := podOf("a")
	pod.Namespace, pod.ResourceVersion = "shop", "7"
	object := metav1.ObjectMetaAccessor(PodOf(pod)).GetObjectMeta()
	if object.GetNamespace() != "shop" || object.GetName() != "a" || object.GetResourceVersion() != "7" {
		t.Errorf("got %+v", object)
	}
}

// An exported pod converts to the same.
func TestPodsOfTheAPIAndBack(t *testing.T) {
	at := metav1.NewTime(noon)
	for reason, change := range map[string]func(*corev1.Pod){
		"nothing": func(*corev1.Pod) {},
		"running and ready": func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Phase, p.Status.StartTime = "a", corev1.PodRunning, &at
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: at}}
		},
		"deleted": func(p *corev1.Pod) { p.DeletionTimestamp, p.CreationTimestamp = &at, at },
		"labels": func(p *corev1.Pod) {
			p.Labels, p.ResourceVersion = map[string]string{"app": "web", "tier": ""},
				"7"
		},
		"no request":     func(p *corev1.Pod) { p.Spec.Containers[1].Resources.Requests = nil },
		"no containers":  func(p *corev1.Pod) { p.Spec.Containers = nil },
		"a huge request": func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("9E") },
		"a sidecar": func(p *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []corev1.Container{{Name: "setup"},
				{Name: "proxy", RestartPolicy: &always, Resources: p.Spec.Containers[0].Resources}}
		},
		"for the whole pod": func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("700m")}}
			p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("5m")}
		},
		"a part of the pod's resources for the whole": func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}
			p.Spec.InitContainers = []corev1.Container{containerOf("setup", "2")}
			p.Spec.Overhead = cpu("5m")
		},
		"a resize": func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{having("b", "10m"), having("a", "100m")}
		},
		"a resize of the whole pod": func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("700m")}
			p.Spec.Overhead = cpu("5m")
			p.Status.AllocatedResources = cpu("405m")
		},
		"claims": func(p *corev1.Pod) {
			cores := []corev1.NodeAllocatableMappedResources{{Name: "cpu"}, {Name: "memory"}}
			p.Status.NodeAllocatableResourceClaimStatuses = []corev1.NodeAllocatableResourceClaimStatus{
				{ResourceClaimName: "cores", Containers: []string{"a", "b"}, Mapping: cores},
				{ResourceClaimName: "more", Mapping: cores},
			}
		},
	} {
		pod := podOf("p", "100m", "250m")
		change(pod)
		want := PodOf(pod)
		want.identity = hashOf("")
		if got := PodOf(want.API()); *got != *want {
			t.Errorf("%s: got %+v, want %+v, %+v", reason, got.API(), want.API(), pod)
		}
	}
}
