package vertical

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	core "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// HasLittleHistory reports whether the recommendations follow from few samples, as the
// recommender says in conditions of the object.
func HasLittleHistory(status *autoscaling.VerticalPodAutoscalerStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c autoscaling.VerticalPodAutoscalerCondition) bool {
		return c.Status == corev1.ConditionTrue && (string(c.Type) == recommend.LowConfidence || string(c.Type) == recommend.DamagedCheckpoint)
	})
}

// RecommendationsOf reads what a status recommends; nil without a recommendation.
func RecommendationsOf(status *autoscaling.VerticalPodAutoscalerStatus) []core.Recommendation {
	if status.Recommendation == nil {
		return nil
	}
	all := make([]core.Recommendation, 0, len(status.Recommendation.ContainerRecommendations))
	for i := range status.Recommendation.ContainerRecommendations {
		c := &status.Recommendation.ContainerRecommendations[i]
		all = append(all, core.Recommendation{
			Container: c.ContainerName,
			Target:    AmountsOf(c.Target), Lower: AmountsOf(c.LowerBound), Upper: AmountsOf(c.UpperBound),
			Uncapped: AmountsOf(c.UncappedTarget),
		})
	}
	return all
}

// RecommendedOf writes recommendations into a status. Without any it is upstream's
// empty recommendation.
func RecommendedOf(all []core.Recommendation) *autoscaling.RecommendedPodResources {
	recommended := &autoscaling.RecommendedPodResources{}
	for i := range all {
		r := &all[i]
		recommended.ContainerRecommendations = append(recommended.ContainerRecommendations, autoscaling.RecommendedContainerResources{
			ContainerName: r.Container,
			Target:        ListOf(r.Target), LowerBound: ListOf(r.Lower), UpperBound: ListOf(r.Upper),
			UncappedTarget: ListOf(r.Uncapped),
		})
	}
	return recommended
}
