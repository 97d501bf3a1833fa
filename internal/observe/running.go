package observe

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Running has the running containers of a pod, by which their cgroups are found.
type Running struct {
	// PodUID is the UID of the pod; for a static pod, the one that its kubelet uses.
	PodUID     string
	Containers []RunningContainer
}

// RunningContainer is a running container.
type RunningContainer struct {
	Name string
	// ID is its ID at the runtime, without the runtime's name in front.
	ID string
}

// Equal reports whether the same containers run.
func (r *Running) Equal(other *Running) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.PodUID == other.PodUID && slices.Equal(r.Containers, other.Containers)
}

// configHash is the annotation of the API's copy of a static pod with the kubelet's UID of the pod.
const configHash = "kubernetes.io/config.hash"

// RunningOf returns those in the pod's status; nil if none runs. Sidecars are among them: a kubelet reports those too.
func RunningOf(pod *corev1.Pod) *Running {
	r := &Running{PodUID: string(pod.UID)}
	if hash := pod.Annotations[configHash]; hash != "" {
		r.PodUID = hash
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			status := &statuses[i]
			_, id, found := strings.Cut(status.ContainerID, "://")
			if !found || id == "" || status.State.Running == nil {
				continue
			}
			r.Containers = append(r.Containers, RunningContainer{Name: status.Name, ID: id})
		}
	}
	if len(r.Containers) == 0 {
		return nil
	}
	return r
}
