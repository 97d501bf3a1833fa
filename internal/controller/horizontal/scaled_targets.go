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

// scaledTargets has what each autoscaler scales, and who else scales the same.
type scaledTargets struct {
	// mu guards what follows.
	mu       sync.Mutex
	byKey    map[observe.Key]scaledTarget
	byTarget map[targets.ID][]observe.Key
}

// scaledTarget is the target of an autoscaler that was created then.
type scaledTarget struct {
	id      targets.ID
	created time.Time
}

func newScaledTargets() *scaledTargets {
	return &scaledTargets{byKey: map[observe.Key]scaledTarget{}, byTarget: map[targets.ID][]observe.Key{}}
}

// of are the autoscalers of a target.
func (s *scaledTargets) of(id targets.ID) []observe.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byTarget[id])
}

// set notes what an autoscaler scales. The WorkloadAutoscalers that share its old or its new target
// are returned: whether they may act may have changed.
func (s *scaledTargets) set(hpa observehorizontal.Autoscaler) (affected []observe.Key) {
	key := hpa.Key()
	id, isValid := scaling.TargetOf(hpa)
	s.mu.Lock()
	defer s.mu.Unlock()
	created := hpa.CreationTimestamp.Time
	if old, isThere := s.byKey[key]; isThere && isValid && old.id == id && old.created.Equal(created) {
		return nil
	}
	affected = s.drop(key)
	if isValid {
		affected = appendWorkloads(affected, s.byTarget[id])
		s.byKey[key] = scaledTarget{id: id, created: created}
		s.byTarget[id] = append(s.byTarget[id], key)
	}
	return affected
}

// forget notes that an autoscaler is gone, and returns what set does.
func (s *scaledTargets) forget(key observe.Key) (affected []observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop(key)
}

// drop needs the lock.
func (s *scaledTargets) drop(key observe.Key) (affected []observe.Key) {
	old, isThere := s.byKey[key]
	if !isThere {
		return nil
	}
	delete(s.byKey, key)
	others := slices.DeleteFunc(s.byTarget[old.id], func(other observe.Key) bool { return other == key })
	if s.byTarget[old.id] = others; len(others) == 0 {
		delete(s.byTarget, old.id)
	}
	return appendWorkloads(nil, others)
}

func appendWorkloads(dst, keys []observe.Key) []observe.Key {
	for _, key := range keys {
		if key.Kind == observe.WorkloadAutoscaler {
			dst = append(dst, key)
		}
	}
	return dst
}

// rivalOf is another autoscaler of a WorkloadAutoscaler's target, because of which it must not act:
// an HPA, or else the WorkloadAutoscaler that was created first.
func (s *scaledTargets) rivalOf(key observe.Key) (rival observe.Key, isThere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.byTarget[s.byKey[key].id] {
		if other == key || other.Kind == key.Kind && s.isFirst(key, other) {
			continue
		}
		if !isThere || other.Kind < rival.Kind || other.Kind == rival.Kind && other.Name < rival.Name {
			rival, isThere = other, true
		}
	}
	return rival, isThere
}

// isFirst reports whether one autoscaler was created before another. It needs the lock.
func (s *scaledTargets) isFirst(one, other observe.Key) bool {
	if c := s.byKey[one].created.Compare(s.byKey[other].created); c != 0 {
		return c < 0
	}
	return one.Name < other.Name
}
