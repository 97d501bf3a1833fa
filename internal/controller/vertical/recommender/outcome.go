package recommender

import (
	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// outcomeOfPass is what a pass came to for one VerticalPodAutoscaler.
type outcomeOfPass struct {
	VPA *vpav1.VerticalPodAutoscaler
	// Decision is the zero Decision where there is none.
	Decision *recommend.Decision
	// Containers is how many have a history.
	Containers int
	// HasPods: its workload has pods. LookupFailed: its workload was not found.
	HasPods, LookupFailed bool
}
