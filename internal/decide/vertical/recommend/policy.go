// Package recommend decides the requests of the containers of one workload, and the VerticalPodAutoscaler's status. It
// is upstream's recommender for one object; with every divergence off its numbers equal upstream's exactly.
package recommend

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
)

// Policy has the settings of the flags and of the object.
type Policy struct {
	estimate.Policy
	// CountContention counts throttling and waiting for a CPU as demand; see cpucontention. Upstream does not have it, and
	// it is off by default.
	CountContention bool
}

// DefaultPolicy returns upstream's flags by default, and Plimsoll's divergences.
func DefaultPolicy() Policy { return Policy{Policy: estimate.DefaultPolicy()} }
