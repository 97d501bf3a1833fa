package observe

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// requestOf is what the pod requests of the metric's resource (upstream:
// calculateRequests): the named container's request; or what is set for the pod
// as a whole (KEP-2837); or the sum over the containers and the init containers
// that keep running beside them.
func requestOf(pod *corev1.Pod, spec *metric.Spec, mode arithmetic.Mode) metric.Request {
	name := corev1.ResourceName(spec.Name)
	if spec.Container != "" {
		return containerRequest(pod, spec, mode)
	}
	if resourcehelpers.IsPodLevelRequestsSet(pod) {
		q, found := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})[name]
		if !found {
			return metric.Request{Missing: metric.PodWithoutRequest}
		}
		return metric.Request{Milli: milli(&q, mode)}
	}
	var request metric.Request
	for c := range lasting(pod) {
		q, found := c.Resources.Requests[name]
		if !found {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.Name}
		}
		request.Milli = mode.Add(request.Milli, milli(&q, mode))
	}
	return request
}

func containerRequest(pod *corev1.Pod, spec *metric.Spec, mode arithmetic.Mode) metric.Request {
	for c := range lasting(pod) {
		if c.Name != spec.Container {
			continue
		}
		q, found := c.Resources.Requests[corev1.ResourceName(spec.Name)]
		if !found {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.Name}
		}
		return metric.Request{Milli: milli(&q, mode)}
	}
	return metric.Request{Missing: metric.ContainerNotFound, Container: spec.Container}
}

// lasting yields the containers that live as long as the pod.
func lasting(pod *corev1.Pod) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			restarts := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if restarts && !yield(c) {
				return
			}
		}
	}
}
