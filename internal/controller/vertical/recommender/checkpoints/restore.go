package checkpoints

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// retryPause is the time between two attempts to read the checkpoints.
const retryPause = 5 * time.Second

// Read reads all checkpoints; it returns false if ctx ended before that.
func (s *Store) Read(ctx context.Context) bool {
	for {
		read := map[types.NamespacedName][]stored{}
		err := s.Client.EachCheckpoint(ctx, s.Namespace, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
			if s.IsIgnored(c.Namespace) {
				return
			}
			owner := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName}
			read[owner] = latest(read[owner], s.decode(c))
		})
		if err == nil {
			s.unclaimed = read
			return true
		}
		s.Log.Error(err, "reading checkpoints failed; recommendations wait for them")
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryPause):
		}
	}
}

// latest adds a checkpoint, or keeps the newer of two of one container: the name of a container's checkpoint changes if
// it collides with that of another object.
func latest(all []stored, one stored) []stored {
	for i := range all {
		if all[i].container != one.container {
			continue
		}
		if all[i].damage != "" || one.damage == "" && all[i].at.Before(one.at) {
			all[i] = one
		}
		return all
	}
	return append(all, one)
}

func (s *Store) decode(c *vpav1.VerticalPodAutoscalerCheckpoint) stored {
	saved, isWhole, err := observevertical.CheckpointOf(c)
	if err != nil {
		return stored{container: c.Spec.ContainerName, damage: err.Error()}
	}
	if !isWhole {
		s.Log.Info("the annotation of a checkpoint cannot be decoded and is ignored", "checkpoint", c.Namespace+"/"+
			c.Name)
	}
	return stored{container: c.Spec.ContainerName, saved: saved, at: c.Status.LastUpdateTime.Time}
}

// Restore returns the history of a new VerticalPodAutoscaler from the checkpoints that were read.
func (s *Store) Restore(now time.Time, name types.NamespacedName) recommend.State {
	var state recommend.State
	due := map[string]time.Time{}
	s.due[name] = due
	for _, c := range s.unclaimed[name] {
		due[c.container] = now.Add(spread(name, c.container))
		if c.damage != "" {
			state = state.Damaged(c.container, c.damage)
			continue
		}
		var err error
		if state, err = state.Restore(s.Policy, c.container, c.saved, now); err != nil {
			s.Log.Info("a checkpoint is damaged", "object", name.String(), "container", c.container, "err", err.Error())
		}
	}
	delete(s.unclaimed, name)
	return state
}

// Forget drops a deleted VerticalPodAutoscaler.
func (s *Store) Forget(name types.NamespacedName) { delete(s.due, name) }

// ForgetUnclaimed drops the checkpoints whose VerticalPodAutoscalers did not appear, except the awaited ones.
func (s *Store) ForgetUnclaimed(awaited []*vpav1.VerticalPodAutoscaler) {
	waiting := map[types.NamespacedName]struct{}{}
	for _, vpa := range awaited {
		waiting[types.NamespacedName{Namespace: vpa.Namespace, Name: vpa.Name}] = struct{}{}
	}
	maps.DeleteFunc(s.unclaimed, func(name types.NamespacedName, _ []stored) bool {
		_, waits := waiting[name]
		return !waits
	})
}
