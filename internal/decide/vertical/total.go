package vertical

// InitContainer is an init container. A sidecar keeps running beside the containers: its restartPolicy is Always.
type InitContainer struct {
	Name    string
	Sidecar bool
	Resized
}

// InitContainers has the init containers of a pod, in its order.
type InitContainers []InitContainer

// Sidecars returns the total resources of the sidecars.
func (all InitContainers) Sidecars() Resized {
	var total Resized
	for i := range all {
		if all[i].Sidecar {
			total = total.Plus(all[i].Resized)
		}
	}
	return total
}

// QoS returns the class that the init containers alone would have; unknown without any.
func (all InitContainers) QoS() QoS {
	class := QoSUnknown
	for i := range all {
		class = class.With(all[i].Resized.QoS())
	}
	return class
}

// Total returns the resources of a pod with these containers in total and these resources as a whole. An init container
// runs beside the sidecars before it, so the pod has at least the sum of these. (k8s.io/component-helpers/resource,
// AggregateContainerRequests, PodRequests; plugin/pkg/admission/limitranger, podRequests, podLimits; v1.37.)
func (all InitContainers) Total(containers, whole Resized) Resized {
	var sidecars Resized
	total := containers.Plus(all.Sidecars())
	for i := range all {
		now := sidecars.Plus(all[i].Resized)
		if all[i].Sidecar {
			sidecars = now
		}
		total = Resized{Requests: total.Requests.Max(now.Requests), Limits: total.Limits.Max(now.Limits)}
	}
	return Resized{Requests: total.Requests.Replace(whole.Requests), Limits: total.Limits.Replace(whole.Limits)}
}

// Plus returns the sum of both.
func (r Resized) Plus(s Resized) Resized {
	return Resized{Requests: r.Requests.Plus(s.Requests), Limits: r.Limits.Plus(s.Limits)}
}

// NodeRequests returns the resources that the pod occupies on its node: its requests, or the resources that the kubelet
// has applied if these are larger, or if it has not accepted the requests.
func (p *Pod) NodeRequests() Amounts {
	var containers Resized
	isRefused := (p.Resize == ResizeDeferred || p.Resize == ResizeInfeasible) && !p.HasOlderResize()
	for i := range p.Containers {
		c := &p.Containers[i]
		requests := c.Requests
		if !isRefused {
			requests = requests.Max(c.Spec.Requests)
		}
		containers.Requests = containers.Requests.Plus(requests)
	}
	return p.InitContainers.Total(containers, p.Whole).Requests.Plus(p.Overhead)
}
