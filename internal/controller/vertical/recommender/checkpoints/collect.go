package checkpoints

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Collect deletes checkpoints of deleted objects and, with live-containers, of containers without a history.
func (s *Store) Collect(ctx context.Context, now time.Time) {
	if s.collected.IsZero() {
		s.collected = now // as upstream, wait for one interval first
	}
	if now.Sub(s.collected) < s.CollectInterval {
		return
	}
	s.collected = now
	var gone []types.NamespacedName
	err := s.Client.EachCheckpoint(ctx, s.Namespace, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		if !s.IsIgnored(c.Namespace) && !s.isNeeded(c) {
			gone = append(gone, types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
		}
	})
	if err != nil {
		s.Log.Error(err, "garbage collection of checkpoints failed")
		return
	}
	for _, name := range gone {
		if err := s.Client.DeleteCheckpoint(ctx, name.Namespace, name.Name); err != nil {
			s.Log.Error(err, "deleting an orphaned checkpoint failed")
			continue
		}
		s.Log.V(1).Info("orphaned checkpoint deleted", "checkpoint", name.String())
	}
}

// isNeeded reports whether a checkpoint's object exists and, if this recommender decides it, has a history of the
// container.
func (s *Store) isNeeded(c *vpav1.VerticalPodAutoscalerCheckpoint) bool {
	owner := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName}
	_, exists, err := s.VPAs.GetByKey(owner.String())
	if err != nil {
		return true
	}
	a, isOurs := s.Autoscalers.Autoscaler(owner)
	if !exists || !isOurs || a.LookupFailed || !s.Policy.Has(divergence.LiveContainers) {
		return exists
	}
	return a.has(c.Spec.ContainerName)
}
