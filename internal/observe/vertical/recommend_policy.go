package vertical

import (
	"slices"
	"strings"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// wholeCPUs are the affixes of the annotations that ask for whole CPUs.
const (
	wholeCPUsPrefix = "vpa-post-processor.kubernetes.io/"
	wholeCPUsSuffix = "_integerCPU"
)

// RecommendFlags is what the operator asks of the recommender.
type RecommendFlags struct {
	Policy recommend.Policy
	// NoOverrides ignores what objects say about aggregation and running out of memory:
	// upstream's feature gate PerVPAConfig is off.
	NoOverrides bool
	// IntegerCPU lets objects ask for whole CPUs.
	IntegerCPU bool
}

// RecommendPolicyOf is the flags with what the object's owner asks for.
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
