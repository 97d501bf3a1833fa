package objects

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Mode is when the VPA's recommendation is applied. None means Recreate, and so does
// Auto, its old name.
func (v *Vertical) Mode() autoscaling.UpdateMode {
	if p := v.Spec.UpdatePolicy; p != nil && p.UpdateMode != nil && *p.UpdateMode != autoscaling.UpdateModeAuto {
		return *p.UpdateMode
	}
	return autoscaling.UpdateModeRecreate
}

// Evicts reports whether pods may be evicted so that they are made anew.
func (v *Vertical) Evicts() bool {
	return v.Mode() == autoscaling.UpdateModeRecreate || v.Mode() == autoscaling.UpdateModeInPlaceOrRecreate
}

// Policy is what the VPA does with one container: its own policy, else that of all.
type Policy struct {
	*autoscaling.ContainerResourcePolicy
	// Field is where it stands; nil if there is none.
	Field Field
}

var policies = Field{"spec", "resourcePolicy", "containerPolicies"}

// PolicyFor is the policy for the container of that name.
func (v *Vertical) PolicyFor(container string) Policy {
	found := Policy{ContainerResourcePolicy: &autoscaling.ContainerResourcePolicy{}}
	if v.Spec.ResourcePolicy == nil {
		return found
	}
	for i := range v.Spec.ResourcePolicy.ContainerPolicies {
		p := &v.Spec.ResourcePolicy.ContainerPolicies[i]
		own := Policy{ContainerResourcePolicy: p, Field: policies.In(strconv.Itoa(i))}
		if p.ContainerName == container {
			return own
		}
		if p.ContainerName == autoscaling.DefaultContainerResourcePolicy {
			found = own
		}
	}
	return found
}

// Controls reports whether the VPA sizes that resource under this policy.
func (p Policy) Controls(name corev1.ResourceName) bool {
	switch {
	case p.Mode != nil && *p.Mode == autoscaling.ContainerScalingModeOff:
		return false
	case p.ControlledResources == nil:
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	return slices.Contains(*p.ControlledResources, name)
}

// ScalesLimits reports whether limits follow requests in proportion.
func (p Policy) ScalesLimits() bool {
	return p.ControlledValues == nil || *p.ControlledValues == autoscaling.ContainerControlledValuesRequestsAndLimits
}
