package world

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// container is one running container of a pod and its part of the pod's use.
type container struct {
	name  string
	share float64
}

// runningContainers are those that run as long as the pod: containers and sidecars (init containers that restart).
func runningContainers(pod *corev1.Pod) []corev1.Container {
	running := make([]corev1.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		c := pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			running = append(running, c)
		}
	}
	return append(running, pod.Spec.Containers...)
}

// split shares a pod's use out over its containers.
func split(pod *corev1.Pod) ([]container, *complaint) {
	running := runningContainers(pod)
	names := make([]string, len(running))
	for i := range running {
		names[i] = running[i].Name
	}
	shares, bad := splitByRequests(running), (*complaint)(nil)
	if text, found := pod.Annotations[AnnotationContainerShares]; found {
		named, err := parseShares(text, names)
		if err == nil {
			shares = named
		} else {
			bad = &complaint{AnnotationContainerShares, err}
		}
	}
	containers := make([]container, len(running))
	for i := range running {
		containers[i] = container{name: names[i], share: shares[i]}
	}
	return containers, bad
}

// splitByRequests is in proportion to the CPU requests, even if one container has none.
func splitByRequests(running []corev1.Container) []float64 {
	shares := make([]float64, len(running))
	var sum float64
	for i := range running {
		shares[i] = milli(running[i].Resources.Requests, corev1.ResourceCPU)
		sum += shares[i]
	}
	for i := range shares {
		if shares[i] == 0 {
			return evenly(len(shares))
		}
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

func evenly(n int) []float64 {
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = 1 / float64(n)
	}
	return shares
}

// resourcesOf bounds the pod so that no container exceeds its own limits: limit_c / share_c, the smallest of them.
func resourcesOf(pod *corev1.Pod, containers []container) workloadmodel.Resources {
	var r workloadmodel.Resources
	cpuLimit, memoryLimit := math.Inf(1), math.Inf(1)
	running := runningContainers(pod)
	for i := range running {
		r.CPURequestMilli += milli(running[i].Resources.Requests, corev1.ResourceCPU)
		share := containers[i].share
		if share == 0 {
			continue
		}
		if limit := milli(running[i].Resources.Limits, corev1.ResourceCPU); limit > 0 {
			cpuLimit = min(cpuLimit, limit/share)
		}
		if limit := milli(running[i].Resources.Limits, corev1.ResourceMemory) / 1000; limit > 0 {
			memoryLimit = min(memoryLimit, limit/share)
		}
	}
	cpuLimit = lower(cpuLimit, podLevel(pod, corev1.ResourceCPU))
	memoryLimit = lower(memoryLimit, podLevel(pod, corev1.ResourceMemory)/1000)
	if !math.IsInf(cpuLimit, 1) {
		r.CPULimitMilli = cpuLimit
	}
	if !math.IsInf(memoryLimit, 1) {
		r.MemoryLimitBytes = memoryLimit
	}
	return r
}

// podLevel is a limit of the pod as a whole, 0 if there is none.
func podLevel(pod *corev1.Pod, name corev1.ResourceName) float64 {
	if pod.Spec.Resources == nil {
		return 0
	}
	return milli(pod.Spec.Resources.Limits, name)
}

func lower(limit, other float64) float64 {
	if other > 0 {
		return min(limit, other)
	}
	return limit
}

// milli is a thousandth of the resource's unit, 0 if it is not in the list.
func milli(list corev1.ResourceList, name corev1.ResourceName) float64 {
	quantity, found := list[name]
	if !found {
		return 0
	}
	return quantity.AsApproximateFloat64() * 1000
}
