package horizontal

import (
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// scaledTargets maps autoscalers to their targets and back. Thousands may name one target: only the method of iterates
// over all of them.
type scaledTargets struct {
	// mu guards the following.
	mu    sync.Mutex
	byKey map[observe.Key]scaledTarget
	// byTarget lists the autoscalers of a target in order of precedence.
	byTarget map[targets.ID][]observe.Key
}

// scaledTarget is the target of an autoscaler, with the autoscaler's creation time.
type scaledTarget struct {
	id      targets.ID
	created time.Time
}

func newScaledTargets() *scaledTargets {
	return &scaledTargets{byKey: map[observe.Key]scaledTarget{}, byTarget: map[targets.ID][]observe.Key{}}
}

func (s *scaledTargets) of(id targets.ID) []observe.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byTarget[id])
}

// set records the target of an autoscaler. It returns the WorkloadAutoscalers that act on its old or its new target, or
// did so before. The others did not act and still do not; they update the rival in their status within a sync period.
func (s *scaledTargets) set(autoscaler observehorizontal.Autoscaler) (affected []observe.Key) {
	key := autoscaler.Key()
	id, isValid := scaling.TargetOf(autoscaler)
	s.mu.Lock()
	defer s.mu.Unlock()
	created := autoscaler.CreationTimestamp.Time
	if old, ok := s.byKey[key]; ok && isValid && old.id == id && old.created.Equal(created) {
		return nil
	}
	affected = s.dropLocked(key)
	if !isValid {
		return affected
	}
	affected = s.appendFirstLocked(affected, id)
	s.byKey[key] = scaledTarget{id: id, created: created}
	i := s.findLocked(id, key)
	s.byTarget[id] = slices.Insert(s.byTarget[id], i, key)
	return s.appendFirstLocked(affected, id)
}

// forget drops an autoscaler, and returns the WorkloadAutoscaler that acts on its target now.
func (s *scaledTargets) forget(key observe.Key) (affected []observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropLocked(key)
}

func (s *scaledTargets) dropLocked(key observe.Key) (affected []observe.Key) {
	old, ok := s.byKey[key]
	if !ok {
		return nil
	}
	i := s.findLocked(old.id, key)
	others := slices.Delete(s.byTarget[old.id], i, i+1)
	if s.byTarget[old.id] = others; len(others) == 0 {
		delete(s.byTarget, old.id)
	}
	delete(s.byKey, key)
	return s.appendFirstLocked(nil, old.id)
}

// appendFirstLocked appends the WorkloadAutoscaler that may act on a target, if there is one.
func (s *scaledTargets) appendFirstLocked(dst []observe.Key, id targets.ID) []observe.Key {
	all := s.byTarget[id]
	if len(all) == 0 || all[0].Kind != observe.WorkloadAutoscaler || slices.Contains(dst, all[0]) {
		return dst
	}
	return append(dst, all[0])
}

// rivalOf returns the autoscaler that takes precedence over a WorkloadAutoscaler on its target: an HPA, or else the
// WorkloadAutoscaler that was created first. An HPA has no rival.
func (s *scaledTargets) rivalOf(key observe.Key) (rival observe.Key, isThere bool) {
	if key.Kind != observe.WorkloadAutoscaler {
		return observe.Key{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.byKey[key]
	if !ok || s.byTarget[own.id][0] == key {
		return observe.Key{}, false
	}
	return s.byTarget[own.id][0], true
}

// findLocked returns the index of an autoscaler among those of a target, or the index to insert it at.
func (s *scaledTargets) findLocked(id targets.ID, key observe.Key) (place int) {
	place, _ = slices.BinarySearchFunc(s.byTarget[id], key, func(other, key observe.Key) int {
		switch {
		case other == key:
			return 0
		case s.isBeforeLocked(other, key):
			return -1
		}
		return 1
	})
	return place
}

// isBeforeLocked reports whether one autoscaler takes precedence over another: HPAs first, then the one that was
// created first.
func (s *scaledTargets) isBeforeLocked(one, other observe.Key) bool {
	if one.Kind != other.Kind {
		return one.Kind < other.Kind
	}
	if c := s.byKey[one].created.Compare(s.byKey[other].created); c != 0 {
		return c < 0
	}
	return one.Name < other.Name
}
