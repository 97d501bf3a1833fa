package objects

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Mode is when the VPA's recommendation is applied. None means Recreate, and so does
// Auto, its old name.
func (v *Vertical) Mode() vpav1.UpdateMode {
	if p := v.Spec.UpdatePolicy; p != nil && p.UpdateMode != nil && *p.UpdateMode != vpav1.UpdateModeAuto {
		return *p.UpdateMode
	}
	return vpav1.UpdateModeRecreate
}

// Evicts reports whether pods may be evicted so that they are made anew.
func (v *Vertical) Evicts() bool {
	isEvicting := v.Mode() == vpav1.UpdateModeRecreate || v.Mode() == vpav1.UpdateModeInPlaceOrRecreate
	return isEvicting && !v.leavesOutAll()
}

// leavesOutAll reports whether policies with mode Off leave out each container, whatever its name.
func (v *Vertical) leavesOutAll() bool {
	if v.Spec.ResourcePolicy == nil {
		return false
	}
	isOff := false
	for i := range v.Spec.ResourcePolicy.ContainerPolicies {
		p := &v.Spec.ResourcePolicy.ContainerPolicies[i]
		if p.Mode == nil || *p.Mode != vpav1.ContainerScalingModeOff {
			return false
		}
		isOff = isOff || p.ContainerName == vpav1.DefaultContainerResourcePolicy
	}
	return isOff
}

// Policy is what the VPA does with one container: its own policy, else that of all.
type Policy struct {
	*vpav1.ContainerResourcePolicy
	// Field is where it stands; nil if there is none.
	Field Field
}

var policies = Field{"spec", "resourcePolicy", "containerPolicies"}

// PolicyFor is the policy for the container of that name.
func (v *Vertical) PolicyFor(container string) Policy {
	found := Policy{ContainerResourcePolicy: &vpav1.ContainerResourcePolicy{}}
	if v.Spec.ResourcePolicy == nil {
		return found
	}
	for i := range v.Spec.ResourcePolicy.ContainerPolicies {
		p := &v.Spec.ResourcePolicy.ContainerPolicies[i]
		own := Policy{ContainerResourcePolicy: bounded(p), Field: policies.In(strconv.Itoa(i))}
		if p.ContainerName == container {
			return own
		}
		if p.ContainerName == vpav1.DefaultContainerResourcePolicy {
			found = own
		}
	}
	return found
}

// bounded is the policy without amounts of 0, which are no bounds, and below, which no container can request.
func bounded(p *vpav1.ContainerResourcePolicy) *vpav1.ContainerResourcePolicy {
	of := *p
	for _, list := range []*corev1.ResourceList{&of.MinAllowed, &of.MaxAllowed} {
		*list = maps.Clone(*list)
		maps.DeleteFunc(*list, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.Sign() <= 0 })
	}
	return &of
}

// Controls reports whether the VPA sizes that resource under this policy.
func (p Policy) Controls(name corev1.ResourceName) bool {
	switch {
	case p.Mode != nil && *p.Mode == vpav1.ContainerScalingModeOff:
		return false
	case p.ControlledResources == nil:
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	return slices.Contains(*p.ControlledResources, name)
}

// ScalesLimits reports whether limits follow requests in proportion.
func (p Policy) ScalesLimits() bool {
	return p.ControlledValues == nil || *p.ControlledValues == vpav1.ContainerControlledValuesRequestsAndLimits
}
