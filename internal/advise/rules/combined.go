package rules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// checkSameResource compares what the two refer to: their target may be elsewhere.
func checkSameResource(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for _, v := range c.VerticalsOn(h) {
			if v.Mode() != vpav1.UpdateModeOff {
				found = append(found, bothOn(c, h, v)...)
			}
		}
	}
	return found
}

// bothOn are the metrics of the HPA that the VPA disturbs.
func bothOn(c *objects.Collection, h *objects.Horizontal, v *objects.Vertical) []Finding {
	var found []Finding
	for _, u := range utilizations(h) {
		if container, ok := sizedBy(c, v, u); ok {
			found = append(found, sameResource(c, h, v, u, container))
		}
	}
	return found
}

// sizedBy is a container whose request for the metric's resource the VPA changes.
func sizedBy(c *objects.Collection, v *objects.Vertical, u utilization) (string, bool) {
	name := corev1.ResourceName(u.resource)
	w := c.TargetOfVertical(v)
	switch {
	case w == nil && u.container != "":
		return u.container, v.PolicyFor(u.container).Controls(name)
	case w == nil:
		return "of its target", v.PolicyFor(vpav1.DefaultContainerResourcePolicy).Controls(name)
	}
	for _, container := range w.Sized() {
		isDivided := u.container == "" || u.container == container.Name
		if isDivided && v.PolicyFor(container.Name).Controls(name) {
			return container.Name, true
		}
	}
	return "", false
}

func sameResource(
	c *objects.Collection, h *objects.Horizontal, v *objects.Vertical, u utilization, container string,
) Finding {
	f := Finding{
		Object: &h.Object, Field: u.field.In("target"),
		Why: fmt.Sprintf("The target is %d %% of the %s request, which VPA %s changes (container %s): each change of the "+
			"request looks like a change of load.",
			u.percent, u.resource, v.Name, container),
	}
	value, ok := averageValue(c, h, u)
	if !ok || h.IsV1 || h.IsScaledObject {
		f.Remedy = "Or let the HPA aim at an averageValue, which does not depend on requests."
		f.Patch = withoutResource(v, corev1.ResourceName(u.resource))
		return f
	}
	f.Remedy = fmt.Sprintf("%s is %d %% of what the pod requests now, so the HPA scales where it did.", value, u.percent)
	target := map[string]any{"type": "AverageValue", "averageValue": value}
	f.Patch = patch(&h.Object)
	if len(h.Spec.Metrics) == 0 {
		f.Patch.set(objects.Field{"spec", "metrics"}, []any{
			map[string]any{"type": "Resource", "resource": map[string]any{"name": u.resource, "target": target}},
		})
		return f
	}
	f.Patch.set(u.field.In("target"), target)
	return f
}

// averageValue is the usage of a pod at which the utilization is met; false if a
// request is not known.
func averageValue(c *objects.Collection, h *objects.Horizontal, u utilization) (string, bool) {
	w := c.TargetOfHorizontal(h)
	if w == nil {
		return "", false
	}
	var sum resource.Quantity
	for _, container := range w.Containers() {
		if u.container != "" && container.Name != u.container {
			continue
		}
		request, ok := c.RequestOf(w, container, corev1.ResourceName(u.resource))
		if !ok {
			return "", false
		}
		sum.Add(request)
	}
	if sum.IsZero() {
		return "", false
	}
	if u.resource == string(corev1.ResourceCPU) {
		return quantity(corev1.ResourceCPU, sum.MilliValue()*int64(u.percent)/100), true
	}
	return quantity(corev1.ResourceName(u.resource), sum.Value()/100*int64(u.percent)), true
}

// withoutResource lets the VPA no longer size a resource, of any container.
func withoutResource(v *objects.Vertical, name corev1.ResourceName) *Patch {
	p := patch(&v.Object)
	list := objects.Field{"spec", "resourcePolicy", "containerPolicies"}
	hasDefault := false
	if v.Spec.ResourcePolicy != nil {
		for i := range v.Spec.ResourcePolicy.ContainerPolicies {
			policy := v.PolicyFor(v.Spec.ResourcePolicy.ContainerPolicies[i].ContainerName)
			hasDefault = hasDefault || policy.ContainerName == vpav1.DefaultContainerResourcePolicy
			if policy.Controls(name) {
				p.set(list.In(fmt.Sprint(i), "controlledResources"), rest(policy, name))
			}
		}
	}
	if hasDefault {
		return p
	}
	own := map[string]any{
		"containerName":       vpav1.DefaultContainerResourcePolicy,
		"controlledResources": rest(v.PolicyFor(vpav1.DefaultContainerResourcePolicy), name),
	}
	if v.Has(list) {
		p.Operations = append(p.Operations, Operation{Op: "add", Path: list.Pointer() + "/-", Value: own})
		return p
	}
	return p.set(list, []any{own})
}

// rest are the resources that the policy controls without that one.
func rest(policy objects.Policy, name corev1.ResourceName) []any {
	left := []any{}
	for _, other := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if other != name && policy.Controls(other) {
			left = append(left, string(other))
		}
	}
	return left
}
