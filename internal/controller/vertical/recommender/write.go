package recommender

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// write stores the statuses that say something new.
func (r *Recommender) write(ctx context.Context, works []*work) {
	var writing errgroup.Group
	writing.SetLimit(r.config.Workers)
	for _, w := range works {
		if !w.decided || w.decision.Write == "" {
			continue
		}
		writing.Go(func() error {
			r.writeOne(ctx, w)
			return nil
		})
	}
	_ = writing.Wait() // they tell of their errors themselves
}

func (r *Recommender) writeOne(ctx context.Context, w *work) {
	_, err := r.config.Store.UpdateStatus(ctx, w.object, func(status *vpav1.VerticalPodAutoscalerStatus) bool {
		fill(status, w)
		return true
	})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, vpa.ErrReplaced) {
			r.log.Error(err, "status was not written", "object", w.track.name.String())
		}
		return
	}
	w.written = true
	r.log.V(1).Info("status written", "object", w.track.name.String(), "why", w.decision.Write)
	if !hasRecommendation(&w.object.Status) && len(w.decision.Recommendations) > 0 {
		r.metrics.first(w.track.created)
	}
	about := reference(w.object)
	for _, e := range w.decision.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.config.Events.Event(about, kind, e.Reason, e.Message)
	}
}

// fill makes the status what the decision says, and leaves others' conditions as
// they are.
func fill(status *vpav1.VerticalPodAutoscalerStatus, w *work) {
	status.Recommendation = observevertical.RecommendedOf(w.decision.Recommendations)
	status.ObservedGeneration = &w.object.Generation
	conditions := slices.DeleteFunc(status.Conditions, func(c vpav1.VerticalPodAutoscalerCondition) bool {
		return slices.Contains(owned, string(c.Type))
	})
	for i := range w.decision.Conditions {
		if c := &w.decision.Conditions[i]; slices.Contains(owned, c.Type) {
			conditions = append(conditions, conditionOf(c))
		}
	}
	slices.SortStableFunc(conditions, func(a, b vpav1.VerticalPodAutoscalerCondition) int {
		switch {
		case a.Type < b.Type:
			return -1
		case a.Type > b.Type:
			return 1
		}
		return 0
	})
	status.Conditions = conditions
}

func conditionOf(c *recommend.Condition) vpav1.VerticalPodAutoscalerCondition {
	return vpav1.VerticalPodAutoscalerCondition{
		Type: vpav1.VerticalPodAutoscalerConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		Reason: c.Reason, Message: c.Message, LastTransitionTime: metav1.NewTime(c.Since),
	}
}

func hasRecommendation(status *vpav1.VerticalPodAutoscalerStatus) bool {
	return status.Recommendation != nil && len(status.Recommendation.ContainerRecommendations) > 0
}
