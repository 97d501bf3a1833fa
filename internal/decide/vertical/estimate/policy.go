// Package estimate computes amounts from usage:
//
//	percentile of use → margin → confidence → floor → rounding → caps of the owner
//
// It is the arithmetic of upstream's recommender, exactly so with every divergence off, and it keeps the number after
// each step.
package estimate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// Percentiles are the fractions of samples that the amounts cover.
type Percentiles struct{ Target, Lower, Upper float64 }

// Policy has the settings of the flags and of the object. The comment of each field names upstream's flag.
type Policy struct {
	// Usage includes the divergences.
	Usage usage.Policy
	// MarginFraction: --recommendation-margin-fraction.
	MarginFraction float64
	// Percentiles: --target-{cpu,memory}-percentile,
	// --recommendation-{lower,upper}-bound-{cpu,memory}-percentile.
	Percentiles [vertical.Resources]Percentiles
	// ConfidenceInterval: --confidence-interval-{cpu,memory}.
	ConfidenceInterval [vertical.Resources]time.Duration
	// PodMin is the floor of a pod, shared by its containers, in thousandths of a core and
	// in MiB: --pod-recommendation-min-cpu-millicores, --pod-recommendation-min-memory-mb.
	PodMin [vertical.Resources]float64
	// Round is the unit to which recommendations are rounded up: --round-cpu-millicores, --round-memory-bytes.
	Round [vertical.Resources]int
	// HumanizeMemory rounds to two decimals of the largest unit: --humanize-memory.
	HumanizeMemory bool
	// MaxAllowed applies if the object has no maximum: --container-recommendation-max-allowed-{cpu,memory}.
	MaxAllowed vertical.Amounts

	// Containers are the owner's policies.
	Containers []vertical.ContainerPolicy
	// WholeCPUs has the containers that get whole CPUs: those with the annotation
	// vpa-post-processor.kubernetes.io/NAME_integerCPU=true, if --cpu-integer-post-processor-enabled is set.
	WholeCPUs []string
}

// DefaultPolicy returns upstream's flags by default, and Plimsoll's divergences.
func DefaultPolicy() Policy {
	percentiles := Percentiles{Target: 0.9, Lower: 0.5, Upper: 0.95}
	return Policy{
		Usage:              usage.DefaultPolicy(),
		MarginFraction:     0.15,
		Percentiles:        [vertical.Resources]Percentiles{percentiles, percentiles},
		ConfidenceInterval: [vertical.Resources]time.Duration{24 * time.Hour, 24 * time.Hour},
		PodMin:             [vertical.Resources]float64{25, 250},
		Round:              [vertical.Resources]int{1, 1},
	}
}

// Has reports whether the divergence is on.
func (p *Policy) Has(d divergence.Set) bool { return p.Usage.Divergences.Has(d) }
