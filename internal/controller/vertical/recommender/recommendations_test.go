package recommender

import (
	"testing"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// TestSeriesAreBounded: the number of series does not grow with the cluster.
func TestSeriesAreBounded(t *testing.T) {
	r := newRecommendations()
	outcomes := make([]outcomeOfPass, maxListed+3)
	for i := range outcomes {
		outcomes[i] = outcomeOfPass{VPA: &vpav1.VerticalPodAutoscaler{}, Decision: &recommend.Decision{
			Recommendations: []vertical.Recommendation{{Container: "app"}},
		}}
	}
	r.set(outcomes)
	if r.unlisted != 3 || len(r.containers) != maxListed {
		t.Errorf("%d objects are left out and %d containers listed, want 3 and %d", r.unlisted, len(r.containers), maxListed)
	}
}
