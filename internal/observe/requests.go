package observe

import (
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// requests is what a pod requests. The pods of a workload request the same, and
// share it.
type requests struct {
	// isPodLevel says that something is requested for the pod as a whole, which is
	// then in pod.
	isPodLevel bool
	pod        unique.Handle[request]
	// containers are the first of those that live as long as the pod.
	containers unique.Handle[container]
}

// container is a container with what it requests. The zero handle ends the list.
type container struct {
	name     string
	requests unique.Handle[request]
	next     unique.Handle[container]
}

// request is a resource in the two ways of reading its quantity. The zero handle
// ends the list.
type request struct {
	resource           corev1.ResourceName
	saturated, wrapped int64
	// text is the quantity where it does not fit into milli-units.
	text string
	next unique.Handle[request]
}

// quantity is what was translated.
func (r *request) quantity() resource.Quantity {
	if r.text != "" {
		if q, err := resource.ParseQuantity(r.text); err == nil {
			return q
		}
	}
	return *resource.NewMilliQuantity(r.saturated, resource.DecimalSI)
}

// requestsOf translates what the pod requests.
func requestsOf(pod *corev1.Pod) unique.Handle[requests] {
	var r requests
	if r.isPodLevel = resourcehelpers.IsPodLevelRequestsSet(pod); r.isPodLevel {
		r.pod = listOf(resourcehelpers.PodRequests(quantity.Pod(pod), resourcehelpers.PodResourcesOptions{}))
	}
	for _, c := range slices.Backward(slices.Collect(lasting(pod))) {
		r.containers = unique.Make(container{name: c.Name, requests: listOf(c.Resources.Requests), next: r.containers})
	}
	return unique.Make(r)
}

func listOf(quantities corev1.ResourceList) (list unique.Handle[request]) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(quantities))) {
		q := quantities[name]
		r := request{
			resource: name, saturated: Milli(&q, arithmetic.Saturate), wrapped: Milli(&q, arithmetic.Wrap), next: list,
		}
		if r.saturated != r.wrapped {
			r.text = q.String()
		}
		list = unique.Make(r)
	}
	return list
}

// find looks for a resource in a list.
func find(list unique.Handle[request], name string, mode arithmetic.Mode) (milli int64, found bool) {
	for list != (unique.Handle[request]{}) {
		r := list.Value()
		switch {
		case string(r.resource) != name:
			list = r.next
		case mode == arithmetic.Wrap:
			return r.wrapped, true
		default:
			return r.saturated, true
		}
	}
	return 0, false
}

// all yields the containers.
func (r *requests) all() func(yield func(*container) bool) {
	return func(yield func(*container) bool) {
		for next := r.containers; next != (unique.Handle[container]{}); {
			c := next.Value()
			if !yield(&c) {
				return
			}
			next = c.next
		}
	}
}

// of is what the pod requests of the metric's resource (upstream:
// calculateRequests): the named container's request; or what is set for the pod
// as a whole (KEP-2837); or the sum over the containers and the init containers
// that keep running beside them.
func (r *requests) of(spec *source.Spec, mode arithmetic.Mode) metric.Request {
	if spec.Container != "" {
		return r.ofContainer(spec, mode)
	}
	if r.isPodLevel {
		milli, found := find(r.pod, spec.Name, mode)
		if !found {
			return metric.Request{Missing: metric.PodWithoutRequest}
		}
		return metric.Request{Milli: milli}
	}
	var sum metric.Request
	for c := range r.all() {
		milli, found := find(c.requests, spec.Name, mode)
		if !found {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.name}
		}
		sum.Milli = mode.Add(sum.Milli, milli)
	}
	return sum
}

func (r *requests) ofContainer(spec *source.Spec, mode arithmetic.Mode) metric.Request {
	for c := range r.all() {
		if c.name != spec.Container {
			continue
		}
		milli, found := find(c.requests, spec.Name, mode)
		if !found {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.name}
		}
		return metric.Request{Milli: milli}
	}
	return metric.Request{Missing: metric.ContainerNotFound, Container: spec.Container}
}

// AppendRequests appends what each pod requests of the metric's resource.
func AppendRequests(dst []metric.Request, pods []*Pod, spec *source.Spec, mode arithmetic.Mode) []metric.Request {
	// The pods of a workload mostly request the same.
	var last unique.Handle[requests]
	var same metric.Request
	for i, pod := range pods {
		if i == 0 || pod.requests != last {
			r := pod.requests.Value()
			last, same = pod.requests, r.of(spec, mode)
		}
		dst = append(dst, same)
	}
	return dst
}

// RunsThroughout reports whether a container of that name lives as long as the pod. It is true of every name where the
// pod's containers are not known.
func (p *Pod) RunsThroughout(name string) bool {
	if p.requests == (unique.Handle[requests]{}) {
		return true
	}
	r := p.requests.Value()
	for c := range r.all() {
		if c.name == name {
			return true
		}
	}
	return false
}

// quantities are those of a list.
func quantities(list unique.Handle[request]) corev1.ResourceList {
	all := corev1.ResourceList{}
	for list != (unique.Handle[request]{}) {
		r := list.Value()
		all[r.resource], list = r.quantity(), r.next
	}
	return all
}

// spec is that of a pod that requests the same. Its containers are all that live as
// long as the pod.
func (r *requests) spec() corev1.PodSpec {
	var spec corev1.PodSpec
	if r.isPodLevel {
		spec.Resources = &corev1.ResourceRequirements{Requests: quantities(r.pod)}
	}
	for c := range r.all() {
		spec.Containers = append(spec.Containers, corev1.Container{
			Name: c.name, Resources: corev1.ResourceRequirements{Requests: quantities(c.requests)},
		})
	}
	return spec
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
