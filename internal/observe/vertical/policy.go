package vertical

import (
	"time"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

var modes = map[vpav1.UpdateMode]vertical.Mode{
	vpav1.UpdateModeOff:               vertical.ModeOff,
	vpav1.UpdateModeInitial:           vertical.ModeInitial,
	vpav1.UpdateModeRecreate:          vertical.ModeRecreate,
	vpav1.UpdateModeAuto:              vertical.ModeRecreate,
	vpav1.UpdateModeInPlaceOrRecreate: vertical.ModeInPlaceOrRecreate,
	vpav1.UpdateModeInPlace:           vertical.ModeInPlace,
}

// ModeOf returns the update mode of the object. An unknown mode changes no pods.
func ModeOf(spec *vpav1.VerticalPodAutoscalerSpec) vertical.Mode {
	if spec.UpdatePolicy == nil || spec.UpdatePolicy.UpdateMode == nil || *spec.UpdatePolicy.UpdateMode == "" {
		return vertical.ModeRecreate
	}
	return modes[*spec.UpdatePolicy.UpdateMode]
}

// PoliciesOf returns the policies of the object's containers.
func PoliciesOf(spec *vpav1.VerticalPodAutoscalerSpec) []vertical.ContainerPolicy {
	if spec.ResourcePolicy == nil {
		return nil
	}
	policies := make([]vertical.ContainerPolicy, 0, len(spec.ResourcePolicy.ContainerPolicies))
	for i := range spec.ResourcePolicy.ContainerPolicies {
		policies = append(policies, policyOf(&spec.ResourcePolicy.ContainerPolicies[i]))
	}
	return policies
}

func policyOf(p *vpav1.ContainerResourcePolicy) vertical.ContainerPolicy {
	policy := vertical.ContainerPolicy{
		Container:  p.ContainerName,
		Off:        p.Mode != nil && *p.Mode == vpav1.ContainerScalingModeOff,
		MinAllowed: AmountsOf(p.MinAllowed),
		MaxAllowed: AmountsOf(p.MaxAllowed),
		Controlled: vertical.Controls(),
		Boost:      BoostOf(p.StartupBoost),
	}
	if p.ControlledResources != nil {
		policy.Controlled = [vertical.Resources]bool{}
		for _, name := range *p.ControlledResources {
			if r, ok := resourceNamed(name); ok {
				policy.Controlled[r] = true
			}
		}
	}
	if p.ControlledValues != nil && *p.ControlledValues == vpav1.ContainerControlledValuesRequestsOnly {
		policy.Values = vertical.RequestsOnly
	}
	if p.OOMBumpUpRatio != nil {
		policy.OOM.BumpUpRatio = float64(quantity.Milli(p.OOMBumpUpRatio)) / 1000
	}
	if p.OOMMinBumpUp != nil {
		policy.OOM.MinBumpUpBytes, policy.OOM.HasMinBumpUp = float64(quantity.Milli(p.OOMMinBumpUp))/1000, true
	}
	if p.MemoryAggregationIntervalSeconds != nil {
		policy.Memory.Interval = time.Duration(*p.MemoryAggregationIntervalSeconds) * time.Second
	}
	if p.MemoryAggregationIntervalCount != nil {
		policy.Memory.Count = *p.MemoryAggregationIntervalCount
	}
	return policy
}

// BoostOf returns the start-up boost, nil for none. One of an unknown type, or without its value, counts as none.
func BoostOf(b *vpav1.StartupBoost) *vertical.Boost {
	if b == nil || b.CPU == nil {
		return nil
	}
	var boost vertical.Boost
	switch {
	case b.CPU.Type == vpav1.FactorStartupBoostType && b.CPU.Factor != nil:
		boost.Factor = *b.CPU.Factor
	case b.CPU.Type == vpav1.QuantityStartupBoostType && b.CPU.Quantity != nil:
		boost.AddMilli = vertical.Amount(quantity.Milli(b.CPU.Quantity))
	default:
		return nil
	}
	if b.CPU.DurationSeconds != nil {
		boost.Duration = time.Duration(*b.CPU.DurationSeconds) * time.Second
	}
	return &boost
}
