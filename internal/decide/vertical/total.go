package vertical

// InitContainer is an init container. A sidecar runs on beside the containers: its
// restartPolicy is Always.
type InitContainer struct {
	Name    string
	Sidecar bool
	Resized
}

// InitContainers are those of a pod, in its order.
type InitContainers []InitContainer

// Sidecars returns what the sidecars have together.
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

// Total returns what a pod has with these containers together and these resources as a whole. An init container runs
// beside the sidecars before it, so the pod has at least what these have. (k8s.io/component-helpers/resource,
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

// NodeRequests returns what the pod takes of its node: what is asked for, or what the kubelet has given if that is
// more, or if it has not taken on what is asked for.
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
