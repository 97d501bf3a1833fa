package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// podOf is a pod with containers named a, b, …, each with the given CPU request; an empty one is left out.
func podOf(name string, requests ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for i, request := range requests {
		pod.Spec.Containers = append(pod.Spec.Containers, containerOf(string(rune('a'+i)), request))
	}
	return pod
}

func containerOf(name, request string) corev1.Container {
	c := corev1.Container{Name: name}
	if request != "" {
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(request)}
	}
	return c
}

func TestRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := podOf("p", "100m")
	sidecar.Spec.InitContainers = []corev1.Container{containerOf("setup", "5"), containerOf("proxy", "50m")}
	sidecar.Spec.InitContainers[1].RestartPolicy = &always
	podLevel := podOf("p", "100m", "")
	podLevel.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(
		"700m")}}
	podLevel.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("5m")}
	podMemory := podOf("p", "", "")
	podMemory.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse(
		"1Gi")}}
	cases := map[string]struct {
		reason    string
		pod       *corev1.Pod
		container string
		want      metric.Request
	}{
		"sum":           {"all containers count", podOf("p", "100m", "200m"), "", metric.Request{Milli: 300}},
		"no containers": {"nothing is missing", podOf("p"), "", metric.Request{}},
		"one without": {"a container without a request fails", podOf("p", "1", ""),
			"", metric.Request{Missing: metric.ContainerWithoutRequest, Container: "b"}},
		"sidecar": {"init containers that keep running count, others do not", sidecar,
			"", metric.Request{Milli: 150}},
		"named":         {"only the named container", podOf("p", "1", "200m"), "b", metric.Request{Milli: 200}},
		"named sidecar": {"it may be an init container", sidecar, "proxy", metric.Request{Milli: 50}},
		"named, not found": {"a container that only sets up is not found", sidecar,
			"setup", metric.Request{Missing: metric.ContainerNotFound, Container: "setup"}},
		"named, no request": {"other containers' requests do not help", podOf("p", "1", ""),
			"b", metric.Request{Missing: metric.ContainerWithoutRequest, Container: "b"}},
		"pod level":        {"set for the pod as a whole, with its overhead", podLevel, "", metric.Request{Milli: 705}},
		"pod level, named": {"a named container takes precedence", podLevel, "a", metric.Request{Milli: 100}},
		"pod level, other one": {"set for the pod, but not for this resource", podMemory,
			"", metric.Request{Missing: metric.PodWithoutRequest}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := source.Spec{Name: "cpu", Container: tc.container}
			got := AppendRequests(nil, []*Pod{PodOf(tc.pod)}, &spec, divergence.None)
			if diff := cmp.Diff([]metric.Request{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// cpu is a request of a spec or a status.
func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// having is the status of a container with these requests.
func having(name, amount string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Resources: &corev1.ResourceRequirements{Requests: cpu(amount)}}
}

// TestActuatedRequests: while a resize in place is pending, a pod's use is a fraction of the requests in its status.
// Upstream divides by the spec at once.
func TestActuatedRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for name, tc := range map[string]struct {
		reason                string
		change                func(*corev1.Pod)
		container             string
		spec, pending, sought int64
	}{
		"grows": {"the kubelet has not done it", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{having("b", "200m"), having("a", "50m")}
		}, "", 300, 250, 0},
		"shrinks": {"nor the other way", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{having("a", "1")}
		}, "", 300, 1200, 0},
		"a named container": {"the same", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{having("a", "50m"), having("b", "20m")}
		}, "b", 200, 20, 0},
		"a sidecar": {"its status is among those of init containers", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always,
				Resources: corev1.ResourceRequirements{Requests: cpu("30m")}}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{having("proxy", "10m")}
		}, "", 330, 310, 0},
		"allocated": {"older kubelets report no more", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", AllocatedResources: cpu("40m")}}
		}, "", 300, 240, 0},
		"actuated before allocated": {"a resize is actuated after it is allocated", func(p *corev1.Pod) {
			s := having("a", "60m")
			s.AllocatedResources = cpu("40m")
			p.Status.ContainerStatuses = []corev1.ContainerStatus{s}
		}, "", 300, 260, 0},
		"not reported": {"a status without this resource says nothing of it", func(p *corev1.Pod) {
			s := having("a", "60m")
			s.Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{s, {Name: "b"}}
		}, "", 300, 300, 0},
		"another container": {"what a status has of none of the pod's containers does not count", func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers[:1], containerOf("c", "7m"))
			p.Status.ContainerStatuses = []corev1.ContainerStatus{having("b", "60m"), having("c", "7m")}
		}, "", 107, 107, 0},
		"the pod as a whole": {"the status has it with the overhead", func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("700m")}
			p.Spec.Overhead = cpu("5m")
			p.Status.AllocatedResources = cpu("405m")
			p.Status.Resources = &corev1.ResourceRequirements{Requests: cpu("399m")}
		}, "", 700, 400, 705},
		"less than the overhead": {"no container could have got anything of it", func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("700m")}
			p.Spec.Overhead = cpu("5m")
			p.Status.AllocatedResources = cpu("4m")
			p.Status.Resources = &corev1.ResourceRequirements{Requests: cpu("399m")}
		}, "", 700, 700, 705},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf("p", "100m", "200m")
			tc.change(pod)
			metricOf := source.Spec{Name: "cpu", Container: tc.container}
			if tc.sought == 0 {
				tc.sought = tc.spec
			}
			for set, want := range map[divergence.Set]int64{
				divergence.Default: tc.pending, divergence.Default &^ divergence.ActuatedRequests: tc.spec,
				divergence.None: tc.sought,
			} {
				got := AppendRequests(nil, []*Pod{PodOf(pod)}, &metricOf, set)
				isResizing := set == divergence.Default && tc.pending != tc.spec
				if diff := cmp.Diff([]metric.Request{{Milli: want, Resizing: isResizing}}, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, set, diff)
				}
			}
		})
	}
}

// TestPodLevelRequests: the request of the pod as a whole counts. Upstream adds the overhead, and for a resource
// without one it takes the amount that the scheduler reserves.
func TestPodLevelRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		pod            *corev1.Pod
		whole          corev1.ResourceList
		want, upstream metric.Request
	}{
		"overhead": {"no container uses the overhead", podOf("p", "100m"), cpu("700m"),
			metric.Request{Milli: 700}, metric.Request{Milli: 705}},
		"not set": {"a container that has ended requests nothing", podOf("p", "100m", "20m"),
			corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			metric.Request{Milli: 120}, metric.Request{Milli: 2005}},
		"of some containers": {"as upstream", podOf("p", "100m", ""),
			corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			metric.Request{Milli: 100}, metric.Request{Milli: 2005}},
		"of no container": {"the request of a container that has ended is no request",
			podOf("p", ""), corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			metric.Request{Missing: metric.PodWithoutRequest}, metric.Request{Milli: 2005}},
		"neither CPU nor memory": {"nothing that counts is set for the pod", podOf("p", "100m"),
			corev1.ResourceList{"example.com/gpu": resource.MustParse("1")},
			metric.Request{Milli: 100}, metric.Request{Milli: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.pod.Spec.InitContainers = []corev1.Container{containerOf("setup", "2")}
			tc.pod.Spec.Overhead = cpu("5m")
			tc.pod.Spec.Resources = &corev1.ResourceRequirements{Requests: tc.whole}
			spec := source.Spec{Name: "cpu"}
			for set, want := range map[divergence.Set]metric.Request{
				divergence.Default: tc.want, divergence.Default &^ divergence.PodLevelRequests: tc.upstream,
				divergence.None: tc.upstream,
			} {
				got := AppendRequests(nil, []*Pod{PodOf(tc.pod)}, &spec, set)
				if diff := cmp.Diff([]metric.Request{want}, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, set, diff)
				}
			}
		})
	}
}

// TestClaimedRequests: if a ResourceClaim adds to a request, that is only a part of the pod's resources. Upstream
// divides by the part.
func TestClaimedRequests(t *testing.T) {
	claim := func(p *corev1.Pod, resource corev1.ResourceName, containers ...string) {
		all := &p.Status.NodeAllocatableResourceClaimStatuses
		*all = append(*all, corev1.NodeAllocatableResourceClaimStatus{
			ResourceClaimName: "cores", Containers: containers,
			Mapping: []corev1.NodeAllocatableMappedResources{{Name: resource}},
		})
	}
	inClaim := metric.Request{Missing: metric.RequestInClaim, Container: "b", Claim: "cores"}
	for name, tc := range map[string]struct {
		reason    string
		change    func(*corev1.Pod)
		container string
		want      metric.Request
	}{
		"one container's": {"the pod's use is that of all", func(p *corev1.Pod) { claim(p, "cpu", "b") }, "", inClaim},
		"that container":  {"its use", func(p *corev1.Pod) { claim(p, "cpu", "a", "b") }, "b", inClaim},
		"another container": {"its request is all that it has", func(p *corev1.Pod) { claim(p, "cpu", "b") }, "a",
			metric.Request{Milli: 100}},
		"no container's": {"the pod may use it", func(p *corev1.Pod) { claim(p, "cpu") }, "",
			metric.Request{Missing: metric.RequestInClaim, Claim: "cores"}},
		"another resource": {"CPU is as requested", func(p *corev1.Pod) { claim(p, "memory", "b") }, "",
			metric.Request{Milli: 300}},
		"in the pod's request": {"a request for the pod as a whole has all of it", func(p *corev1.Pod) {
			claim(p, "cpu", "b")
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("700m")}
		}, "", metric.Request{Milli: 700}},
		"an init container's": {"it has ended before the containers work", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "setup"}}
			claim(p, "cpu", "setup")
		}, "", metric.Request{Milli: 300}},
		"a sidecar's": {"it works beside the containers", func(p *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []corev1.Container{containerOf("proxy", "50m")}
			p.Spec.InitContainers[0].RestartPolicy = &always
			claim(p, "cpu", "proxy")
		}, "", metric.Request{Missing: metric.RequestInClaim, Container: "proxy", Claim: "cores"}},
		"an overhead": {"what a device needs is not for the containers' work", func(p *corev1.Pod) {
			claim(p, "memory", "b")
			p.Status.NodeAllocatableResourceClaimStatuses[0].Overhead =
				[]corev1.NodeAllocatableOverheadResources{{Name: "cpu"}}
		}, "", metric.Request{Milli: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf("p", "100m", "200m")
			tc.change(pod)
			spec := source.Spec{Name: "cpu", Container: tc.container}
			got := AppendRequests(nil, []*Pod{PodOf(pod)}, &spec, divergence.Default)
			if diff := cmp.Diff([]metric.Request{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			got = AppendRequests(nil, []*Pod{PodOf(pod)}, &spec, divergence.Default&^divergence.ClaimedRequests)
			if got[0].Missing != metric.RequestSet {
				t.Errorf("upstream divides by what is requested, got %+v", got)
			}
		})
	}
}

func TestPods(t *testing.T) {
	now := metav1.NewTime(noon)
	pod := podOf("p")
	pod.DeletionTimestamp = &now
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(noon.Add(time.Minute))},
		},
	}
	want := []metric.Pod{
		{
			Name: "p", Phase: metric.PhaseRunning, Deleting: true, Ready: metric.ReadyUnknown,
			StartTime: noon, ReadyTransition: noon.Add(time.Minute),
		},
		{Name: "new"},
	}
	got := Pods(PodsOf([]*corev1.Pod{pod, podOf("new")}))
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(metric.Revision{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
