package objects

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Workload makes pods from a template.
type Workload struct {
	Object
	// Replicas is nil where the object does not say.
	Replicas *int32
	// Selector is nil where the API server makes it.
	Selector labels.Selector
	Template *corev1.PodTemplateSpec
	// TemplateField is where in the object the template stands.
	TemplateField Field
	// TemplateObject is the object that has the template: the workload itself, or what it names.
	TemplateObject *Object
	// from is the workload whose template this one uses; nil if it has its own.
	from *corev1.ObjectReference
	// PodManagement is that of a StatefulSet.
	PodManagement appsv1.PodManagementPolicyType
}

// Container is one container of a workload's template that runs as long as the pod:
// a native sidecar is one of them.
type Container struct {
	*corev1.Container
	Field Field
}

// LacksTemplate reports whether the workload's pods are described by an object that is not here.
func (w *Workload) LacksTemplate() bool { return w.from != nil && w.TemplateObject.Key() == w.Key() }

// Borrows is the workload whose template this one uses, as text; empty if it has its own.
func (w *Workload) Borrows() string {
	if w.from == nil {
		return ""
	}
	return w.from.Kind + " " + w.from.Name
}

// Sized are the containers that a VPA sizes: none of the init containers, not even a native sidecar.
func (w *Workload) Sized() []Container {
	all := make([]Container, len(w.Template.Spec.Containers))
	for i := range all {
		all[i] = Container{
			Container: &w.Template.Spec.Containers[i], Field: w.TemplateField.In("spec", "containers", strconv.Itoa(i)),
		}
	}
	return all
}

// Replaces reports whether another workload only lends this one its template, and has no pods of its own: it has no
// replicas, or Argo Rollouts scales it down (https://argo-rollouts.readthedocs.io/en/stable/migrating/).
func (w *Workload) Replaces(other *Workload) bool {
	if w.from == nil || w.TemplateObject != &other.Object {
		return false
	}
	down, _ := w.Value(Field{"spec", "workloadRef"})["scaleDown"].(string)
	return other.Replicas != nil && *other.Replicas == 0 || down == "onsuccess" || down == "progressively"
}

// Containers are those that run as long as the pod.
func (w *Workload) Containers() []Container {
	all := w.Sized()
	spec := w.TemplateField.In("spec")
	for i := range w.Template.Spec.InitContainers {
		c := &w.Template.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			all = append(all, Container{Container: c, Field: spec.In("initContainers", strconv.Itoa(i))})
		}
	}
	return all
}

// Container is the one of that name.
func (w *Workload) Container(name string) (Container, bool) {
	for _, c := range w.Containers() {
		if c.Name == name {
			return c, true
		}
	}
	return Container{}, false
}

// PodRequests reports whether the template asks for the resource for the pod as a whole.
func (w *Workload) PodRequests(name corev1.ResourceName) bool {
	r := w.Template.Spec.Resources
	if r == nil {
		return false
	}
	_, requested := r.Requests[name]
	_, limited := r.Limits[name]
	return requested || limited
}

// Own are the pods that the workload made, of those that are known.
func (c *Collection) Own(w *Workload) []*Running { return c.indexed().own[w] }

// Owner is the topmost workload that made a pod; nil if that is not known.
func (c *Collection) Owner(p *Running) *Workload {
	var owner *Workload
	refs := p.Pod.OwnerReferences
	// A pod's owner has an owner at most: ReplicaSet and Deployment, Job and CronJob.
	for range 2 {
		var next *Workload
		for i := range refs {
			if w := c.Target(p.Namespace, refs[i].APIVersion, refs[i].Kind, refs[i].Name); w != nil &&
				refs[i].Controller != nil && *refs[i].Controller {
				next = w
			}
		}
		if next == nil {
			return owner
		}
		owner, refs = next, next.Meta.OwnerReferences
	}
	return owner
}

// Root is the workload that owns this one, or itself.
func (c *Collection) Root(w *Workload) *Workload {
	for i := range w.Meta.OwnerReferences {
		ref := &w.Meta.OwnerReferences[i]
		owner := c.Target(w.Namespace, ref.APIVersion, ref.Kind, ref.Name)
		if owner != nil && ref.Controller != nil && *ref.Controller {
			return owner
		}
	}
	return w
}
