package vertical

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// HasLittleHistory reports whether the recommendations follow from few samples, by the recommender's conditions of the
// object.
func HasLittleHistory(status *vpav1.VerticalPodAutoscalerStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c vpav1.VerticalPodAutoscalerCondition) bool {
		return c.Status == corev1.ConditionTrue &&
			(string(c.Type) == recommend.LowConfidence || string(c.Type) == recommend.DamagedCheckpoint)
	})
}

// RecommendationsOf returns the recommendations in a status; nil without any.
func RecommendationsOf(status *vpav1.VerticalPodAutoscalerStatus) []vertical.Recommendation {
	if status.Recommendation == nil {
		return nil
	}
	all := make([]vertical.Recommendation, 0, len(status.Recommendation.ContainerRecommendations))
	for i := range status.Recommendation.ContainerRecommendations {
		c := &status.Recommendation.ContainerRecommendations[i]
		all = append(all, vertical.Recommendation{
			Container: c.ContainerName,
			Target:    AmountsOf(c.Target), Lower: AmountsOf(c.LowerBound), Upper: AmountsOf(c.UpperBound),
			Uncapped: AmountsOf(c.UncappedTarget),
		})
	}
	return all
}

// RecommendedOf converts recommendations for a status. Without any it is upstream's empty recommendation.
func RecommendedOf(all []vertical.Recommendation) *vpav1.RecommendedPodResources {
	recommended := &vpav1.RecommendedPodResources{}
	for i := range all {
		r := &all[i]
		recommended.ContainerRecommendations = append(recommended.ContainerRecommendations,
			vpav1.RecommendedContainerResources{
				ContainerName: r.Container,
				Target:        ListOf(r.Target), LowerBound: ListOf(r.Lower), UpperBound: ListOf(r.Upper),
				UncappedTarget: ListOf(r.Uncapped),
			})
	}
	return recommended
}
