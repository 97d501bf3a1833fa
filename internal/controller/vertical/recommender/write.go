package recommender

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/go-logr/logr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// statusWriter writes statuses.
type statusWriter struct {
	config  *Config
	log     logr.Logger
	metrics *metrics
}

// write stores the statuses that say something new.
func (s statusWriter) write(ctx context.Context, works []*work) {
	var writing errgroup.Group
	writing.SetLimit(s.config.Workers)
	for _, w := range works {
		if !w.decided || w.decision.Write == status.NotWritten {
			continue
		}
		writing.Go(func() error {
			s.writeOne(ctx, w)
			return nil
		})
	}
	_ = writing.Wait() // they tell of their errors themselves
}

func (s statusWriter) writeOne(ctx context.Context, w *work) {
	_, err := s.config.Store.UpdateStatus(ctx, w.object, func(old *vpav1.VerticalPodAutoscalerStatus) bool {
		fill(old, w)
		return true
	})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, vpa.ErrReplaced) {
			s.log.Error(err, "status was not written", "object", w.track.name.String())
		}
		return
	}
	w.written = true
	s.log.V(1).Info("status written", "object", w.track.name.String(), "why", w.decision.Write.String())
	if !hasRecommendation(&w.object.Status) && len(w.decision.Recommendations) > 0 {
		s.metrics.first(w.track.created)
	}
	about := reference(w.object)
	for _, e := range w.decision.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		s.config.Events.Event(about, kind, e.Reason, e.Message)
	}
}

// fill makes the status what the decision says, and leaves others' conditions as
// they are.
func fill(s *vpav1.VerticalPodAutoscalerStatus, w *work) {
	s.Recommendation = observevertical.RecommendedOf(w.decision.Recommendations)
	s.ObservedGeneration = &w.object.Generation
	owned := func(kind string) bool { return slices.Contains(recommend.Owned, kind) }
	conditions := slices.DeleteFunc(s.Conditions,
		func(c vpav1.VerticalPodAutoscalerCondition) bool { return owned(string(c.Type)) })
	observevertical.Conditions.Sort(conditions)
	for i := range w.decision.Conditions {
		if c := &w.decision.Conditions[i]; owned(c.Type) {
			conditions, _ = observevertical.Conditions.Set(conditions, *c)
		}
	}
	s.Conditions = conditions
}

func hasRecommendation(s *vpav1.VerticalPodAutoscalerStatus) bool {
	return s.Recommendation != nil && len(s.Recommendation.ContainerRecommendations) > 0
}
