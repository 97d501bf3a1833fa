package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// podOf is a pod with containers named a, b, …, each with the given CPU
// request; an empty one is left out.
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
			got := AppendRequests(nil, []*Pod{PodOf(tc.pod)}, &spec, arithmetic.Wrap)
			if diff := cmp.Diff([]metric.Request{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
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
	if diff := cmp.Diff(want, Pods(PodsOf([]*corev1.Pod{pod, podOf("new")}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
