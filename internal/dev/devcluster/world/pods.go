package world

import (
	"maps"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// timestampGrain is twice the precision of the API's times: a pod younger than this may have started just now.
const timestampGrain = 2 * time.Second

// pod is a running pod. One that does not run yet, or no longer, is not in the world.
type pod struct {
	object     *corev1.Pod
	sim        *workloadmodel.Pod
	node       *node
	containers []container
	seenAt     time.Time  // time of the model when it came; it has used nothing until the next step
	address    netip.Addr // where it serves metrics; invalid if it does not
}

func (w *World) setPod(object *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ns := w.namespace(object.Namespace)
	known := ns.pods[object.Name]
	if known != nil && (known.object.UID != object.UID || !runs(object)) {
		w.removePod(ns, known)
		known = nil
	}
	if !runs(object) {
		return
	}
	if known == nil {
		known = w.addPod(object)
		ns.pods[object.Name] = known
	} else {
		w.updatePod(known, object)
	}
	w.setAddress(known)
	known.sim.SetReady(takesTraffic(object))
	w.assign(ns, known)
}

func (w *World) deletePod(object *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ns := w.namespace(object.Namespace)
	if known := ns.pods[object.Name]; known != nil && known.object.UID == object.UID {
		w.removePod(ns, known)
	}
}

func (w *state) addPod(object *corev1.Pod) *pod {
	profile, complaints := profileOf(object.Annotations)
	containers, bad := split(object)
	if bad != nil {
		complaints = append(complaints, *bad)
	}
	w.complain(object, complaints)
	p := &pod{object: object, node: w.node(object.Spec.NodeName), containers: containers, seenAt: w.at}
	age := w.at.Sub(startOf(object, ""))
	if age < timestampGrain {
		age = 0
	}
	p.sim = w.model.AddPod(workloadmodel.PodConfig{
		Name: object.Namespace + "/" + object.Name, Node: p.node.sim,
		Resources: resourcesOf(object, containers), Profile: profile, Age: age,
	})
	p.node.pods[p] = true
	return p
}

// updatePod takes over what may change while a pod runs: resources (resize in place) and annotations.
func (w *state) updatePod(p *pod, object *corev1.Pod) {
	if !maps.Equal(p.object.Annotations, object.Annotations) {
		profile, complaints := profileOf(object.Annotations)
		w.complain(object, complaints)
		p.sim.SetProfile(profile)
	}
	p.sim.SetResources(resourcesOf(object, p.containers))
	p.object = object
}

func (w *state) removePod(ns *namespace, p *pod) {
	w.model.RemovePod(p.sim)
	w.removeAddress(p)
	delete(p.node.pods, p)
	delete(ns.pods, p.object.Name)
}

// complain warns about a pod's annotations, once for all pods of one owner.
func (w *state) complain(object *corev1.Pod, complaints []complaint) {
	owner := "Pod " + object.Name
	if len(object.OwnerReferences) > 0 {
		owner = object.OwnerReferences[0].Kind + " " + object.OwnerReferences[0].Name
	}
	for _, c := range complaints {
		w.warn(object, warning{namespace: object.Namespace, owner: owner, message: c.String()})
	}
}

// runs reports whether a kubelet would have the pod's containers running.
func runs(object *corev1.Pod) bool {
	return object.Spec.NodeName != "" && object.Status.Phase == corev1.PodRunning
}

// takesTraffic reports whether an EndpointSlice would list the pod as ready.
func takesTraffic(object *corev1.Pod) bool {
	if object.DeletionTimestamp != nil {
		return false
	}
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// startOf returns the start time of a container in its status; the pod's start time if there is no such status.
func startOf(object *corev1.Pod, containerName string) time.Time {
	for _, statuses := range [][]corev1.ContainerStatus{object.Status.ContainerStatuses,
		object.Status.InitContainerStatuses} {
		for i := range statuses {
			if s := &statuses[i]; s.Name == containerName && s.State.Running != nil {
				return s.State.Running.StartedAt.Time
			}
		}
	}
	if object.Status.StartTime != nil {
		return object.Status.StartTime.Time
	}
	return object.CreationTimestamp.Time
}
