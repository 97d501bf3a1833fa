package vertical

import (
	"time"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	core "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

var modes = map[autoscaling.UpdateMode]core.Mode{
	autoscaling.UpdateModeOff:               core.ModeOff,
	autoscaling.UpdateModeInitial:           core.ModeInitial,
	autoscaling.UpdateModeRecreate:          core.ModeRecreate,
	autoscaling.UpdateModeAuto:              core.ModeRecreate,
	autoscaling.UpdateModeInPlaceOrRecreate: core.ModeInPlaceOrRecreate,
	autoscaling.UpdateModeInPlace:           core.ModeInPlace,
}

// ModeOf is how the object's recommendations reach pods. A word that nobody knows
// reaches none.
func ModeOf(spec *autoscaling.VerticalPodAutoscalerSpec) core.Mode {
	if spec.UpdatePolicy == nil || spec.UpdatePolicy.UpdateMode == nil || *spec.UpdatePolicy.UpdateMode == "" {
		return core.ModeRecreate
	}
	return modes[*spec.UpdatePolicy.UpdateMode]
}

// PoliciesOf are the policies of the object's containers.
func PoliciesOf(spec *autoscaling.VerticalPodAutoscalerSpec) []core.ContainerPolicy {
	if spec.ResourcePolicy == nil {
		return nil
	}
	policies := make([]core.ContainerPolicy, 0, len(spec.ResourcePolicy.ContainerPolicies))
	for i := range spec.ResourcePolicy.ContainerPolicies {
		policies = append(policies, policyOf(&spec.ResourcePolicy.ContainerPolicies[i]))
	}
	return policies
}

func policyOf(p *autoscaling.ContainerResourcePolicy) core.ContainerPolicy {
	policy := core.ContainerPolicy{
		Container:  p.ContainerName,
		Off:        p.Mode != nil && *p.Mode == autoscaling.ContainerScalingModeOff,
		MinAllowed: AmountsOf(p.MinAllowed),
		MaxAllowed: AmountsOf(p.MaxAllowed),
		Controlled: core.Controls(),
		Boost:      BoostOf(p.StartupBoost),
	}
	if p.ControlledResources != nil {
		policy.Controlled = [core.Resources]bool{}
		for _, name := range *p.ControlledResources {
			if r, ok := resourceNamed(name); ok {
				policy.Controlled[r] = true
			}
		}
	}
	if p.ControlledValues != nil && *p.ControlledValues == autoscaling.ContainerControlledValuesRequestsOnly {
		policy.Values = core.RequestsOnly
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

// BoostOf is the start-up boost, nil for none. One of an unknown type, or without
// its value, is none.
func BoostOf(b *autoscaling.StartupBoost) *core.Boost {
	if b == nil || b.CPU == nil {
		return nil
	}
	var boost core.Boost
	switch {
	case b.CPU.Type == autoscaling.FactorStartupBoostType && b.CPU.Factor != nil:
		boost.Factor = *b.CPU.Factor
	case b.CPU.Type == autoscaling.QuantityStartupBoostType && b.CPU.Quantity != nil:
		boost.AddMilli = core.Amount(quantity.Milli(b.CPU.Quantity))
	default:
		return nil
	}
	if b.CPU.DurationSeconds != nil {
		boost.Duration = time.Duration(*b.CPU.DurationSeconds) * time.Second
	}
	return &boost
}
