package vertical

import (
	"slices"
	"strings"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// wholeCPUs are the affixes of the annotations that request whole CPUs.
const (
	wholeCPUsPrefix = "vpa-post-processor.kubernetes.io/"
	wholeCPUsSuffix = "_integerCPU"
)

// RecommendFlags are the flags of the recommender that affect a policy.
type RecommendFlags struct {
	Policy recommend.Policy
	// NoOverrides ignores the settings of objects about aggregation and running out of memory: upstream's feature gate
	// PerVPAConfig is off.
	NoOverrides bool
	// IntegerCPU permits objects to request whole CPUs.
	IntegerCPU bool
}

// RecommendPolicyOf returns the policy of the flags and the object.
func RecommendPolicyOf(object *vpav1.VerticalPodAutoscaler, flags RecommendFlags) recommend.Policy {
	p := flags.Policy
	p.Containers = PoliciesOf(&object.Spec)
	if flags.NoOverrides {
		for i := range p.Containers {
			p.Containers[i].OOM, p.Containers[i].Memory = vertical.OOMPolicy{}, vertical.MemoryPolicy{}
		}
	}
	if !flags.IntegerCPU {
		return p
	}
	p.WholeCPUs = slices.Clone(p.WholeCPUs)
	for key, value := range object.Annotations {
		name, hasPrefix := strings.CutPrefix(key, wholeCPUsPrefix)
		name, hasSuffix := strings.CutSuffix(name, wholeCPUsSuffix)
		if hasPrefix && hasSuffix && name != "" && value == "true" {
			p.WholeCPUs = append(p.WholeCPUs, name)
		}
	}
	return p
}
