// Package estimate computes amounts from usage:
//
//	percentile of use → margin → confidence → floor → rounding → caps of the owner
//
// It is upstream's recommender's arithmetic, with every divergence off to the last
// unit, and keeps the number after each step.
package estimate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// Percentiles are which shares of samples are covered.
type Percentiles struct{ Target, Lower, Upper float64 }

// Policy is what flags and the object's owner ask for. Each field has the flag of
// upstream that is in its comment.
type Policy struct {
	// Usage has the divergences, too.
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
	// Round is of what recommendations are multiples: --round-cpu-millicores,
	// --round-memory-bytes.
	Round [vertical.Resources]int
	// HumanizeMemory leaves two decimals of the largest unit: --humanize-memory.
	HumanizeMemory bool
	// MaxAllowed applies where the owner has no maximum:
	// --container-recommendation-max-allowed-{cpu,memory}.
	MaxAllowed vertical.Amounts

	// Containers are the owner's policies.
	Containers []vertical.ContainerPolicy
	// WholeCPUs are the containers that get whole CPUs: those with the annotation
	// vpa-post-processor.kubernetes.io/NAME_integerCPU=true, if
	// --cpu-integer-post-processor-enabled is set.
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
