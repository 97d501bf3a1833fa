package recommender

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
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
	// isDecided and isLookedAt say that the object was decided, and its pods looked at,
	// at least once.
	isDecided, isLookedAt bool
	// overlap says that there are other objects for the workload.
	overlap string
	state   recommend.State
	// sampled is when its containers were last measured, or last needed not be.
	sampled time.Time
	// created is when the object came to be; the time to its first recommendation is
	// counted from then.
	created time.Time
	// saves are when containers' checkpoints may be written.
	saves map[string]time.Time
	// contended are the containers that do not get the CPU that they want.
	contended cpucontention.Contended
}

// workload is what a reference names.
type workload struct{ kind, name string }

type parked struct {
	state recommend.State
	until time.Time
}

func workloadOf(object *vpav1.VerticalPodAutoscaler) workload {
	if object.Spec.TargetRef == nil {
		return workload{}
	}
	return workload{kind: object.Spec.TargetRef.Kind, name: object.Spec.TargetRef.Name}
}

// isOurs reports whether this recommender is responsible for an object.
func (c *Config) isOurs(object *vpav1.VerticalPodAutoscaler) bool {
	if c.isIgnored(object.Namespace) {
		return false
	}
	if len(object.Spec.Recommenders) == 0 {
		return c.Name == DefaultName
	}
	return slices.ContainsFunc(object.Spec.Recommenders, func(s vpav1.VerticalPodAutoscalerRecommenderSelector) bool {
		return s.Name == c.Name
	})
}

func (c *Config) isIgnored(namespace string) bool {
	return c.Namespace != "" && namespace != c.Namespace || slices.Contains(c.Ignored, namespace)
}

func nameOf(object *vpav1.VerticalPodAutoscaler) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}

// follow returns the object's track. One that is new takes over what is known of
// it: its checkpoints, or what is still in memory of its workload.
func (r *Recommender) follow(now time.Time, object *vpav1.VerticalPodAutoscaler) *track {
	name, ref := nameOf(object), workloadOf(object)
	t := r.tracks[name]
	if t != nil && t.uid == object.UID && t.ref == ref {
		return t
	}
	if t != nil {
		r.leave(now, t)
	}
	t = &track{
		name: name, uid: object.UID, ref: ref, created: object.CreationTimestamp.Time, saves: map[string]time.Time{},
	}
	r.checkpoints.claim(now, t)
	r.tracks[name] = t
	r.sampler.Follow(name)
	return t
}

// found notes the workload of a track. What is known of it from another object is
// taken over.
func (r *Recommender) found(t *track, target types.UID) {
	if t.target == target {
		return
	}
	t.target = target
	if p, known := r.parked[target]; known && len(t.state.Containers) == 0 {
		t.state = p.state
	}
	delete(r.parked, target)
}

// leave forgets an object and parks what is known of its workload.
func (r *Recommender) leave(now time.Time, t *track) {
	delete(r.tracks, t.name)
	r.pods.Delete(t.name)
	r.sampler.Forget(t.name)
	if t.target != "" && len(t.state.Containers) > 0 {
		r.parked[t.target] = parked{state: t.state, until: now.Add(parkedFor)}
	}
}

// sweep leaves the objects that are gone, and forgets what was parked for too
// long.
func (r *Recommender) sweep(now time.Time, present map[types.NamespacedName]struct{}) {
	for name, t := range r.tracks {
		if _, is := present[name]; !is {
			r.leave(now, t)
			r.metrics.ooms.DeleteLabelValues(name.Namespace, name.Name)
		}
	}
	for uid, p := range r.parked {
		if now.After(p.until) {
			delete(r.parked, uid)
		}
	}
}

// objects hurries those that are new or changed.
type objects struct{ *Recommender }

var _ cache.ResourceEventHandler = objects{}

// OnAdd implements cache.ResourceEventHandler.
func (o objects) OnAdd(object any, isInInitialList bool) {
	if a, ok := object.(*vpav1.VerticalPodAutoscaler); ok && !isInInitialList {
		o.urgent.add(nameOf(a))
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (o objects) OnUpdate(before, after any) {
	old, ok := before.(*vpav1.VerticalPodAutoscaler)
	a, alsoOK := after.(*vpav1.VerticalPodAutoscaler)
	if ok && alsoOK && (old.Generation != a.Generation || old.UID != a.UID) {
		o.urgent.add(nameOf(a))
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (objects) OnDelete(any) {}
