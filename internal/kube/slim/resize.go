package slim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// own are the annotations of the vertical side without the prefix vpa.
var own = []string{"plimsoll.dev/resized-at", "plimsoll.dev/not-updated"}

// annotations returns those that the vertical side writes.
func annotations(all map[string]string) map[string]string {
	var slim map[string]string
	for name, value := range all {
		if !strings.HasPrefix(name, "vpa") && !slices.Contains(own, name) {
			continue
		}
		if slim == nil {
			slim = map[string]string{}
		}
		slim[name] = value
	}
	return slim
}

// conditions returns the pod's readiness, and the progress of a resize.
func conditions(all []corev1.PodCondition) []corev1.PodCondition {
	var slim []corev1.PodCondition
	for i := range all {
		switch all[i].Type {
		case corev1.PodReady, corev1.PodResizePending, corev1.PodResizeInProgress:
			slim = append(slim, all[i])
		}
	}
	return slim
}

// statuses returns those of containers that have ended before (running out of memory is one reason), that are held
// back, or whose resources differ from the spec.
func statuses(p *corev1.Pod) []corev1.ContainerStatus {
	var slim []corev1.ContainerStatus
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		kept := corev1.ContainerStatus{
			Name: s.Name, RestartCount: s.RestartCount, Resources: otherResources(p, s),
			State:                corev1.ContainerState{Terminated: end(s.State.Terminated), Waiting: held(s.State.Waiting)},
			LastTerminationState: corev1.ContainerState{Terminated: end(s.LastTerminationState.Terminated)},
		}
		if kept.State.Terminated != nil || kept.LastTerminationState.Terminated != nil || kept.State.Waiting != nil ||
			kept.Resources != nil {
			slim = append(slim, kept)
		}
	}
	return slim
}

func end(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if t == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: t.ExitCode, Reason: t.Reason, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
	}
}

// held returns the state of a container that ended too often.
func held(w *corev1.ContainerStateWaiting) *corev1.ContainerStateWaiting {
	if w == nil || w.Reason != "CrashLoopBackOff" {
		return nil
	}
	return &corev1.ContainerStateWaiting{Reason: w.Reason}
}

// otherResources returns the container's actual resources; nil if they match its spec, or if the kubelet reports none.
func otherResources(p *corev1.Pod, s *corev1.ContainerStatus) *corev1.ResourceRequirements {
	at := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Name })
	if s.Resources == nil || at < 0 {
		return nil
	}
	asked := &p.Spec.Containers[at].Resources
	if equality.Semantic.DeepEqual(s.Resources.Requests, asked.Requests) &&
		equality.Semantic.DeepEqual(s.Resources.Limits, asked.Limits) {
		return nil
	}
	return &corev1.ResourceRequirements{Requests: s.Resources.Requests, Limits: s.Resources.Limits}
}

// restarts returns the policies by which a resize restarts the container.
func restarts(all []corev1.ContainerResizePolicy) []corev1.ContainerResizePolicy {
	var slim []corev1.ContainerResizePolicy
	for _, policy := range all {
		if policy.RestartPolicy == corev1.RestartContainer {
			slim = append(slim, policy)
		}
	}
	return slim
}

// heap keeps the setting by which a program takes a fraction of its memory limit when it starts, as a variable without
// a name.
func heap(c *corev1.Container) []corev1.EnvVar {
	setting := observevertical.HeapOfLimit(c)
	if setting == "" {
		return nil
	}
	return []corev1.EnvVar{{Value: setting}}
}

// critical returns the priority of a critical pod, and nil for others.
func critical(priority *int32) *int32 {
	if priority == nil || *priority < observevertical.CriticalPriority {
		return nil
	}
	return priority
}

// room returns the parts of a node's allocatable resources that a resize needs.
func room(list corev1.ResourceList) corev1.ResourceList {
	slim := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := list[name]; ok {
			slim[name] = q
		}
	}
	return slim
}
