package vertical

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// PublishedOf converts a status; nil if none has been written yet.
func PublishedOf(s *vpav1.VerticalPodAutoscalerStatus) *status.Published {
	if s.Recommendation == nil && len(s.Conditions) == 0 && s.ObservedGeneration == nil {
		return nil
	}
	p := &status.Published{Recommendations: RecommendationsOf(s)}
	if s.ObservedGeneration != nil {
		p.Generation = *s.ObservedGeneration
	}
	for i := range s.Conditions {
		p.Conditions = append(p.Conditions, readCondition(&s.Conditions[i]))
	}
	return p
}

// Conditions are a status's, in the order of their types.
var Conditions = condition.List[vpav1.VerticalPodAutoscalerCondition]{
	Type: func(c *vpav1.VerticalPodAutoscalerCondition) string { return string(c.Type) }, Read: readCondition,
	Write:    writeCondition,
	IsSorted: true,
}

func readCondition(c *vpav1.VerticalPodAutoscalerCondition) condition.Condition {
	return condition.Condition{
		Type: string(c.Type), Status: condition.Status(c.Status), Reason: c.Reason, Message: c.Message,
		Since: c.LastTransitionTime.Time,
	}
}

func writeCondition(c condition.Condition) vpav1.VerticalPodAutoscalerCondition {
	return vpav1.VerticalPodAutoscalerCondition{
		Type: vpav1.VerticalPodAutoscalerConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		Reason: c.Reason, Message: c.Message, LastTransitionTime: metav1.NewTime(c.Since),
	}
}
