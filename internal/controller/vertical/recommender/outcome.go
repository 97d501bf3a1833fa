package recommender

import (
	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// outcomeOfPass is the result of a pass for one VerticalPodAutoscaler.
type outcomeOfPass struct {
	VPA *vpav1.VerticalPodAutoscaler
	// Decision is the zero Decision if there was none.
	Decision *recommend.Decision
	// Containers is the number of containers with a history.
	Containers int
	// HasPods is set if its workload has pods, LookupFailed if the lookup of its workload failed.
	HasPods, LookupFailed bool
}
