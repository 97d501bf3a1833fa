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

// parkedFor is how long what is known of a workload is kept without an object: as
// when an object is renamed, or deleted and applied again.
const parkedFor = time.Hour

// track is what is kept of one object. It belongs to the loop.
type track struct {
	name types.NamespacedName
	uid  types.UID
	ref  workload
	// target is the workload's UID, empty until it was found.
	target types.UID
	// selector selects the workload's pods, nil before it was found. lookup is what
	// came of finding it the last time.
	selector labels.Selector
	lookup   recommend.Lookup
	// isDecided and hasObserved say that the object was decided, and its pods observed,
	// at least once.
	isDecided, hasObserved bool
	// sharedTarget is the message of the objects that have the same workload.
	sharedTarget string
	state        recommend.State
	checks       findingChecks
}

// workload is what a reference names.
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

// tracks are those of all objects. They belong to the loop.
type tracks struct {
	byName map[types.NamespacedName]*track
	// parked are the histories of workloads whose object is gone, by the workloads' UIDs.
	parked map[types.UID]parked
}

type parked struct {
	state recommend.State
	until time.Time
}

var _ checkpoints.Autoscalers = (*tracks)(nil)

func newTracks() *tracks {
	return &tracks{byName: map[types.NamespacedName]*track{}, parked: map[types.UID]parked{}}
}

// of is the object's track. isNew says that there was none, or that of another object or workload.
func (s *tracks) of(now time.Time, object *vpav1.VerticalPodAutoscaler) (t *track, isNew bool) {
	name, ref := nameOf(object), workloadOf(object)
	t = s.byName[name]
	if t != nil && t.uid == object.UID && t.ref == ref {
		return t, false
	}
	if t != nil {
		s.park(now, t)
	}
	t = &track{name: name, uid: object.UID, ref: ref}
	s.byName[name] = t
	return t, true
}

// found notes the workload of a track. What is known of it from another object is
// taken over.
func (s *tracks) found(t *track, target types.UID) {
	if t.target == target {
		return
	}
	t.target = target
	if p, known := s.parked[target]; known && len(t.state.Containers) == 0 {
		t.state = p.state
	}
	delete(s.parked, target)
}

// park keeps what is known of the workload of an object that is gone.
func (s *tracks) park(now time.Time, t *track) {
	if t.target != "" && len(t.state.Containers) > 0 {
		s.parked[t.target] = parked{state: t.state, until: now.Add(parkedFor)}
	}
}

// sweep removes the tracks of objects that are gone and returns their names, and forgets what was parked for too
// long.
func (s *tracks) sweep(now time.Time, present map[types.NamespacedName]struct{}) (gone []types.NamespacedName) {
	for name, t := range s.byName {
		if _, is := present[name]; !is {
			delete(s.byName, name)
			s.park(now, t)
			gone = append(gone, name)
		}
	}
	for uid, p := range s.parked {
		if now.After(p.until) {
			delete(s.parked, uid)
		}
	}
	return gone
}

// sort gives the containers that ran out of memory to the objects whose pods they are of.
func (s *tracks) sort(kills []oom.Kill) map[types.NamespacedName][]recommend.OOM {
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
