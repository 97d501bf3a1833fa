package observe

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// claim is a resource that a ResourceClaim adds to a pod (KEP-5517), for one of its containers; for no particular one
// if the container is empty. The zero handle ends the list.
type claim struct {
	name, container string
	resource        corev1.ResourceName
	next            unique.Handle[claim]
}

// claimsOf returns the resources that claims add to the pod. A device's overhead beside them is not a request for the
// containers' work. Neither are claims of init containers alone, which end before that work begins.
func claimsOf(pod *corev1.Pod) (list unique.Handle[claim]) {
	for _, status := range slices.Backward(pod.Status.NodeAllocatableResourceClaimStatuses) {
		containers := working(pod, status.Containers)
		for _, mapped := range slices.Backward(status.Mapping) {
			for _, name := range slices.Backward(containers) {
				list = unique.Make(claim{
					name: status.ResourceClaimName, container: name, resource: mapped.Name, next: list,
				})
			}
		}
	}
	return list
}

// working returns the names of those containers that work; a claim for no particular one has the empty name.
func working(pod *corev1.Pod, names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return endsBeforeWork(pod, name) })
}

// endsBeforeWork reports whether the container is an init container other than a sidecar.
func endsBeforeWork(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && !isSidecar(&c)
	})
}

// isSidecar reports whether the init container lives as long as the pod.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// claimed reports whether a claim adds to the request. The request is then only a part of the resources of the pod, or
// of the named container. A request for the pod as a whole includes claims.
func (r *requests) claimed(spec *source.Spec, set divergence.Set) (of metric.Request, isClaimed bool) {
	if r.claims == (unique.Handle[claim]{}) || !set.Has(divergence.ClaimedRequests) {
		return metric.Request{}, false
	}
	if _, isWhole := find(r.whole.asked, spec.Name, arithmetic.Saturate); isWhole && spec.Container == "" {
		return metric.Request{}, false
	}
	for next := r.claims; next != (unique.Handle[claim]{}); {
		c := next.Value()
		if string(c.resource) == spec.Name && (spec.Container == "" || spec.Container == c.container) {
			return metric.Request{Missing: metric.RequestInClaim, Container: c.container, Claim: c.name}, true
		}
		next = c.next
	}
	return metric.Request{}, false
}

func (c *claim) status() corev1.NodeAllocatableResourceClaimStatus {
	status := corev1.NodeAllocatableResourceClaimStatus{
		ResourceClaimName: c.name, Mapping: []corev1.NodeAllocatableMappedResources{{Name: c.resource}},
	}
	if c.container != "" {
		status.Containers = []string{c.container}
	}
	return status
}
