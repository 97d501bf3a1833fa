package oom

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// The resources of a container when it ran out of memory count: not those of its spec since, nor those after the
// restart.
func TestOutOfMemoryUnderAResize(t *testing.T) {
	const mebi = 1 << 20
	memory := func(text string) corev1.ResourceRequirements {
		list := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
		return corev1.ResourceRequirements{Requests: list, Limits: list}
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: killed, FinishedAt: metav1.NewTime(time.Unix(1000, 0)),
	}}
	pod := func(spec string, status corev1.ContainerStatus) *corev1.Pod {
		status.Name = "app"
		p := &corev1.Pod{}
		p.Spec.Containers = []corev1.Container{{Name: "app", Resources: memory(spec)}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		return p
	}
	old, raised := memory("100Mi"), memory("200Mi")
	for name, tt := range map[string]struct {
		before, pod *corev1.Pod
		want        vertical.Amount
	}{
		"without a resize":         {nil, pod("100Mi", corev1.ContainerStatus{State: ended}), 100 * mebi},
		"before a resize was done": {nil, pod("200Mi", corev1.ContainerStatus{State: ended, Resources: &old}), 100 * mebi},
		"and it begins anew with more": {
			pod("200Mi", corev1.ContainerStatus{Resources: &old}),
			pod("200Mi", corev1.ContainerStatus{LastTerminationState: ended, Resources: &raised}), 100 * mebi,
		},
	} {
		found := oomsOf(tt.before, tt.pod)
		if len(found) != 1 || found[0].Request != tt.want || found[0].Limit != tt.want {
			t.Errorf("%s: %+v, want one at %d", name, found, tt.want)
		}
	}
}

// With --storage=prometheus the history has only use. A container that ran out of memory, was resized in place and
// still has the old termination in its status must not get more after each restart.
func TestStandingOutOfMemoryAfterAResize(t *testing.T) {
	const mebi = 1 << 20
	ended := time.Unix(1000, 0)
	pod := &corev1.Pod{}
	more := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("200Mi")}
	pod.Spec.Containers = []corev1.Container{{Name: "app",
		Resources: corev1.ResourceRequirements{Requests: more, Limits: more}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: killed, FinishedAt: metav1.NewTime(ended)},
	}}}
	at := func(after time.Duration) string { return ended.Add(after).UTC().Format(time.RFC3339) }
	for why, c := range map[string]struct {
		annotations map[string]string
		want        int
	}{
		"never resized":      {nil, 1},
		"resized before":     {map[string]string{"vpaInPlaceUpdated": "true", "plimsoll.dev/resized-at": at(-time.Hour)}, 1},
		"resized since":      {map[string]string{"vpaInPlaceUpdated": "true", "plimsoll.dev/resized-at": at(time.Hour)}, 0},
		"nobody knows when":  {map[string]string{"vpaInPlaceUpdated": "true"}, 0},
		"when is unreadable": {map[string]string{"vpaInPlaceUpdated": "true", "plimsoll.dev/resized-at": "x"}, 0},
	} {
		pod.Annotations = c.annotations
		found := Standing(pod)
		if len(found) != c.want || c.want == 1 && (found[0].Request != 200*mebi || !found[0].Standing) {
			t.Errorf("%s: %+v, want %d", why, found, c.want)
		}
	}
}
