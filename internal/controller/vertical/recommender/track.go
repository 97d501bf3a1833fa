package recommender

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// retainedFor is the time for which the history of a workload is kept without an object: an object may be renamed, or
// deleted and applied again.
const retainedFor = time.Hour

// track is the state of one object. It belongs to the loop.
type track struct {
	name types.NamespacedName
	uid  types.UID
	ref  workload
	// target is the workload's UID; empty before the first successful lookup.
	target types.UID
	// selector selects the workload's pods; nil before the first successful lookup. lookup is the result of the last one.
	selector labels.Selector
	lookup   recommend.Lookup
	// isDecided is set after the first decision on the object, hasObserved after the first observation of its pods.
	isDecided, hasObserved bool
	// sharedTarget is the message about other objects with the same workload.
	sharedTarget string
	state        recommend.State
	checks       findingChecks
}

// workload is the target of a reference.
type workload struct{ group, kind, name string }

func workloadOf(object *vpav1.VerticalPodAutoscaler) workload {
	ref := object.Spec.TargetRef
	if ref == nil {
		return workload{}
	}
	return workload{group: observe.GroupKey(ref.APIVersion), kind: ref.Kind, name: ref.Name}
}

func nameOf(object *vpav1.VerticalPodAutoscaler) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}

// tracks has those of all objects. It belongs to the loop.
type tracks struct {
	byName map[types.NamespacedName]*track
	// retained has the histories of workloads whose objects are gone, by the workloads' UIDs.
	retained map[types.UID]retained
}

type retained struct {
	state recommend.State
	until time.Time
}

var _ checkpoints.Autoscalers = (*tracks)(nil)

func newTracks() *tracks {
	return &tracks{byName: map[types.NamespacedName]*track{}, retained: map[types.UID]retained{}}
}

// of returns the object's track. isNew is set if there was none, or one of another object or workload.
func (s *tracks) of(now time.Time, object *vpav1.VerticalPodAutoscaler) (t *track, isNew bool) {
	name, ref := nameOf(object), workloadOf(object)
	t = s.byName[name]
	if t != nil && t.uid == object.UID && t.ref == ref {
		return t, false
	}
	if t != nil {
		s.retain(now, t)
	}
	t = &track{name: name, uid: object.UID, ref: ref}
	s.byName[name] = t
	return t, true
}

// found sets the workload of a track. The track takes over the history of an earlier object of the same workload.
func (s *tracks) found(t *track, target types.UID) {
	if t.target == target {
		return
	}
	t.target = target
	if p, known := s.retained[target]; known && len(t.state.Containers) == 0 {
		t.state = p.state
	}
	delete(s.retained, target)
}

// retain keeps the history of the workload of a deleted object.
func (s *tracks) retain(now time.Time, t *track) {
	if t.target != "" && len(t.state.Containers) > 0 {
		s.retained[t.target] = retained{state: t.state, until: now.Add(retainedFor)}
	}
}

// sweep removes the tracks of deleted objects and returns their names, and drops histories that were retained for too
// long.
func (s *tracks) sweep(now time.Time, present map[types.NamespacedName]struct{}) (gone []types.NamespacedName) {
	for name, t := range s.byName {
		if _, is := present[name]; !is {
			delete(s.byName, name)
			s.retain(now, t)
			gone = append(gone, name)
		}
	}
	for uid, p := range s.retained {
		if now.After(p.until) {
			delete(s.retained, uid)
		}
	}
	return gone
}

// assign returns the out-of-memory kills of each object's pods.
func (s *tracks) assign(kills []oom.Kill) map[types.NamespacedName][]recommend.OOM {
	if len(kills) == 0 {
		return nil
	}
	byNamespace := map[string][]*track{}
	for name, t := range s.byName {
		byNamespace[name.Namespace] = append(byNamespace[name.Namespace], t)
	}
	sorted := map[types.NamespacedName][]recommend.OOM{}
	for i := range kills {
		k := &kills[i]
		for _, t := range byNamespace[k.Namespace] {
			if t.selector != nil && k.Labels != nil && t.selector.Matches(labels.Set(k.Labels)) {
				sorted[t.name] = append(sorted[t.name], k.OOM)
			}
		}
	}
	return sorted
}

// Autoscaler implements checkpoints.Autoscalers.
func (s *tracks) Autoscaler(name types.NamespacedName) (checkpoints.Autoscaler, bool) {
	t, exists := s.byName[name]
	if !exists {
		return checkpoints.Autoscaler{}, false
	}
	return t.saved(), true
}

// All implements checkpoints.Autoscalers.
func (s *tracks) All() iter.Seq[checkpoints.Autoscaler] {
	return func(yield func(checkpoints.Autoscaler) bool) {
		for _, t := range s.byName {
			if !yield(t.saved()) {
				return
			}
		}
	}
}

func (t *track) saved() checkpoints.Autoscaler {
	return checkpoints.Autoscaler{Name: t.name, State: &t.state, LookupFailed: t.lookup.Problem != ""}
}
