package observe

import (
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// requests has the requests of a pod. The pods of a workload have the same requests, and share them.
type requests struct {
	// isPodLevel is true if there are requests for the pod as a whole, which are then in whole. pod has all requests of
	// the pod, by upstream's formula.
	isPodLevel bool
	whole      amounts
	pod        unique.Handle[request]
	// containers is the first of those that live as long as the pod.
	containers unique.Handle[container]
	// claims are the pod's resources from ResourceClaims.
	claims unique.Handle[claim]
}

// amounts are the requests of the spec, and of the status. They differ while a resize in place is pending.
type amounts struct{ asked, actual unique.Handle[request] }

// of returns the amount of a resource to divide by, and whether the spec has another one.
func (a amounts) of(name string, set divergence.Set) (milli int64, isOther, found bool) {
	mode := ModeOf(set)
	milli, found = find(a.asked, name, mode)
	if !found || a.actual == a.asked || !set.Has(divergence.ActuatedRequests) {
		return milli, false, found
	}
	actual, _ := find(a.actual, name, mode)
	return actual, actual != milli, true
}

// container is a container with its requests. The zero handle ends the list.
type container struct {
	name     string
	requests amounts
	next     unique.Handle[container]
}

// request is a resource in the two ways of reading its quantity. The zero handle
// ends the list.
type request struct {
	resource           corev1.ResourceName
	saturated, wrapped int64
	// text is the quantity if it overflows milli-units.
	text string
	next unique.Handle[request]
}

func (r *request) quantity() resource.Quantity {
	if r.text != "" {
		if q, err := resource.ParseQuantity(r.text); err == nil {
			return q
		}
	}
	return *resource.NewMilliQuantity(r.saturated, resource.DecimalSI)
}

func requestsOf(pod *corev1.Pod) unique.Handle[requests] {
	r := requests{claims: claimsOf(pod)}
	if r.isPodLevel = resourcehelpers.IsPodLevelRequestsSet(pod); r.isPodLevel {
		pod := quantity.Pod(pod)
		r.pod = listOf(resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{}))
		r.whole = amountsOf(wholeOf(pod), allocatedOf(pod))
	}
	for _, c := range slices.Backward(slices.Collect(Lasting(pod))) {
		r.containers = unique.Make(container{
			name: c.Name, requests: amountsOf(c.Resources.Requests, actuatedOf(pod, c.Name)), next: r.containers,
		})
	}
	return unique.Make(r)
}

// amountsOf returns the requests of a spec, and those of a status. A resource that the status lacks is that of the
// spec.
func amountsOf(asked, has corev1.ResourceList) amounts {
	a := amounts{asked: listOf(asked)}
	a.actual = a.asked
	var actual corev1.ResourceList
	for name, q := range has {
		if want, isAsked := asked[name]; !isAsked || Milli(&want, arithmetic.Saturate) == Milli(&q, arithmetic.Saturate) {
			continue
		}
		if actual == nil {
			actual = maps.Clone(asked)
		}
		actual[name] = q
	}
	if actual != nil {
		a.actual = listOf(actual)
	}
	return a
}

// actuatedOf returns the requests with which a container runs, or will start, as its kubelet reports them; nil if it
// does not (component-helpers: containerActuatedRequests).
func actuatedOf(pod *corev1.Pod, name string) corev1.ResourceList {
	is := func(s corev1.ContainerStatus) bool { return s.Name == name }
	statuses := pod.Status.ContainerStatuses
	i := slices.IndexFunc(statuses, is)
	if i < 0 {
		statuses = pod.Status.InitContainerStatuses
		i = slices.IndexFunc(statuses, is)
	}
	switch {
	case i < 0:
		return nil
	case statuses[i].Resources != nil && statuses[i].Resources.Requests != nil:
		return statuses[i].Resources.Requests
	default:
		return statuses[i].AllocatedResources
	}
}

// wholeOf returns the requests that are set for the pod as a whole.
func wholeOf(pod *corev1.Pod) corev1.ResourceList {
	whole := maps.Clone(pod.Spec.Resources.Requests)
	maps.DeleteFunc(whole, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return !resourcehelpers.IsSupportedPodLevelResource(name)
	})
	return whole
}

// allocatedOf returns the requests that the kubelet has allocated to the pod as a whole, which it reports with the
// pod's overhead. The value that it reads back from the pod's cgroup, status.resources, has the overhead too, and is
// rounded. An amount below the overhead is no allocation.
func allocatedOf(pod *corev1.Pod) corev1.ResourceList {
	if len(pod.Spec.Overhead) == 0 {
		return pod.Status.AllocatedResources
	}
	allocated := maps.Clone(pod.Status.AllocatedResources)
	for name, q := range allocated {
		q = q.DeepCopy()
		q.Sub(pod.Spec.Overhead[name])
		if allocated[name] = q; q.Sign() < 0 {
			delete(allocated, name)
		}
	}
	return allocated
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

// of returns the pod's request of the metric's resource (upstream: calculateRequests): the named container's request;
// or that of the pod as a whole (KEP-2837); or the sum over the containers and the init containers that keep running
// beside them.
func (r *requests) of(spec *source.Spec, set divergence.Set) metric.Request {
	if request, isClaimed := r.claimed(spec, set); isClaimed {
		return request
	}
	switch {
	case spec.Container != "":
		return r.ofContainer(spec, set)
	case r.isPodLevel && set.Has(divergence.PodLevelRequests):
		return r.ofWhole(spec, set)
	case r.isPodLevel:
		milli, found := find(r.pod, spec.Name, ModeOf(set))
		if !found {
			return metric.Request{Missing: metric.PodWithoutRequest}
		}
		return metric.Request{Milli: milli}
	}
	var sum metric.Request
	for c := range r.all() {
		if !c.addTo(&sum, spec, set) {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.name}
		}
	}
	return sum
}

func (c *container) addTo(sum *metric.Request, spec *source.Spec, set divergence.Set) (found bool) {
	milli, isOther, found := c.requests.of(spec.Name, set)
	if found {
		sum.Milli, sum.Resizing = ModeOf(set).Add(sum.Milli, milli), sum.Resizing || isOther
	}
	return found
}

// ofWhole returns the request that is set for the pod as a whole. If that lacks the resource, it is the sum over the
// containers that request it.
func (r *requests) ofWhole(spec *source.Spec, set divergence.Set) (sum metric.Request) {
	if milli, isOther, found := r.whole.of(spec.Name, set); found {
		return metric.Request{Milli: milli, Resizing: isOther}
	}
	isAny := false
	for c := range r.all() {
		if c.addTo(&sum, spec, set) {
			isAny = true
		}
	}
	if !isAny {
		return metric.Request{Missing: metric.PodWithoutRequest}
	}
	return sum
}

func (r *requests) ofContainer(spec *source.Spec, set divergence.Set) (request metric.Request) {
	for c := range r.all() {
		if c.name != spec.Container {
			continue
		}
		if !c.addTo(&request, spec, set) {
			return metric.Request{Missing: metric.ContainerWithoutRequest, Container: c.name}
		}
		return request
	}
	return metric.Request{Missing: metric.ContainerNotFound, Container: spec.Container}
}

// AppendRequests appends each pod's request of the metric's resource.
func AppendRequests(dst []metric.Request, pods []*Pod, spec *source.Spec, set divergence.Set) []metric.Request {
	// The pods of a workload mostly request the same.
	var last unique.Handle[requests]
	var same metric.Request
	for i, pod := range pods {
		if i == 0 || pod.requests != last {
			r := pod.requests.Value()
			last, same = pod.requests, r.of(spec, set)
		}
		dst = append(dst, same)
	}
	return dst
}

// RunsThroughout reports whether a container of that name lives as long as the pod. It returns true for every name if
// the pod's containers are unknown.
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

func quantities(list unique.Handle[request]) corev1.ResourceList {
	all := corev1.ResourceList{}
	for list != (unique.Handle[request]{}) {
		r := list.Value()
		all[r.resource], list = r.quantity(), r.next
	}
	return all
}

// into sets these requests in a pod without any. Its containers become all that live as long as the pod.
func (r *requests) into(pod *corev1.Pod) {
	for c := range r.all() {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: c.name, Resources: corev1.ResourceRequirements{Requests: quantities(c.requests.asked)},
		})
		if c.requests.actual != c.requests.asked {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: c.name, Resources: &corev1.ResourceRequirements{Requests: quantities(c.requests.actual)},
			})
		}
	}
	var claims []corev1.NodeAllocatableResourceClaimStatus
	for next := r.claims; next != (unique.Handle[claim]{}); {
		c := next.Value()
		claims, next = append(claims, c.status()), c.next
	}
	pod.Status.NodeAllocatableResourceClaimStatuses = claims
	if r.isPodLevel {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: quantities(r.whole.asked)}
		pod.Spec.Overhead = r.beyond(pod)
		if r.whole.actual != r.whole.asked {
			pod.Status.AllocatedResources = quantities(r.whole.actual)
			for name, q := range pod.Status.AllocatedResources {
				q.Add(pod.Spec.Overhead[name])
				pod.Status.AllocatedResources[name] = q
			}
		}
	}
}

// beyond returns the parts of upstream's formula beside the containers' requests: the pod's overhead, and the requests
// of init containers that have ended.
func (r *requests) beyond(pod *corev1.Pod) corev1.ResourceList {
	sums := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
	beyond := corev1.ResourceList{}
	for name, q := range quantities(r.pod) {
		if q.Sub(sums[name]); !q.IsZero() {
			beyond[name] = q
		}
	}
	return beyond
}

// Lasting yields the containers that run as long as the pod: its containers, then its native sidecars.
func Lasting(pod *corev1.Pod) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			if isSidecar(c) && !yield(c) {
				return
			}
		}
	}
}
