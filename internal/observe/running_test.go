package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRunningOf(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u-1"},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "sidecar", ContainerID: "containerd://a1", State: running},
				{Name: "migrate", ContainerID: "containerd://a2",
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "app", ContainerID: "cri-o://b1", State: running},
				{Name: "waits", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
				{Name: "without", ContainerID: "b2", State: running},
				{Name: "empty", ContainerID: "containerd://", State: running},
			},
		},
	}
	want := &Running{PodUID: "u-1", Containers: []RunningContainer{{"sidecar", "a1"}, {"app", "b1"}}}
	if got := RunningOf(pod); !got.Equal(want) {
		t.Errorf("%+v", got)
	}
	pod.Annotations = map[string]string{configHash: "hash"}
	if got := RunningOf(pod); got.PodUID != "hash" || got.Equal(want) {
		t.Errorf("a static pod is %+v", got)
	}
	pod.Status = corev1.PodStatus{}
	if got := RunningOf(pod); got != nil || got.Equal(want) || !got.Equal(nil) {
		t.Errorf("%+v", got)
	}
}
