// Package recommend decides what the containers of one workload should request,
// and what the VerticalPodAutoscaler's status says about it. It is upstream's
// recommender for one object; with every divergence off its numbers are upstream's
// to the last unit.
package recommend

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
)

// Policy is what flags and the object's owner ask for.
type Policy struct {
	estimate.Policy
	// CountContention takes being throttled, and waiting for a CPU, for demand; see
	// cpucontention. It is not upstream's, and off by default.
	CountContention bool
}

// DefaultPolicy returns upstream's flags by default, and Plimsoll's divergences.
func DefaultPolicy() Policy { return Policy{Policy: estimate.DefaultPolicy()} }
