package rules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

var sized = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// sizing is a resource of a container that a VPA controls.
type sizing struct {
	v         *objects.Vertical
	w         *objects.Workload
	container objects.Container
	policy    objects.Policy
	name      corev1.ResourceName
}

// sizings are all that VPAs which apply what they recommend control.
func sizings(c *objects.Collection) []sizing {
	var all []sizing
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		policy := v.PolicyFor(container.Name)
		for _, name := range sized {
			if policy.Controls(name) {
				all = append(all, sizing{v: v, w: w, container: container, policy: policy, name: name})
			}
		}
	})
	return all
}

// eachSized visits the containers of workloads with a VPA that applies what it recommends.
func eachSized(c *objects.Collection, visit func(*objects.Vertical, *objects.Workload, objects.Container)) {
	for _, w := range c.Workloads {
		for _, v := range c.VerticalsOf(w) {
			for _, container := range w.Sized() {
				visit(v, w, container)
			}
		}
	}
}

// request is where the container requests the resource.
func (s *sizing) request() objects.Field {
	return s.container.Field.In("resources", "requests", string(s.name))
}

// raise finds that the request is less than something.
func (s *sizing) raise(to resource.Quantity, than string) Finding {
	request := s.container.Resources.Requests[s.name]
	return raise(s.w, s.container, s.name, to,
		fmt.Sprintf("Container %s requests %s of %s, less than %s", s.container.Name, request.String(), s.name, than))
}

// raise sets a request, and its limit if that is less.
func raise(
	w *objects.Workload, container objects.Container, name corev1.ResourceName, to resource.Quantity, why string,
) Finding {
	field := container.Field.In("resources", "requests", string(name))
	p := patch(w.TemplateObject).set(field, to.String())
	if limit, ok := container.Resources.Limits[name]; ok && limit.Cmp(to) < 0 {
		p.set(container.Field.In("resources", "limits", string(name)), to.String())
	}
	return Finding{Object: w.TemplateObject, Field: field, Why: why, Patch: p}
}
