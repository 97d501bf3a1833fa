package vertical

import (
	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// PublishedOf is what a status says; nil if nobody has written one yet.
func PublishedOf(status *vpav1.VerticalPodAutoscalerStatus) *recommend.Published {
	if status.Recommendation == nil && len(status.Conditions) == 0 && status.ObservedGeneration == nil {
		return nil
	}
	p := &recommend.Published{Recommendations: RecommendationsOf(status)}
	if status.ObservedGeneration != nil {
		p.Generation = *status.ObservedGeneration
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		p.Conditions = append(p.Conditions, recommend.Condition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return p
}
