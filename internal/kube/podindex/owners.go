package podindex

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Owners finds the objects that control ReplicaSets. It is called under the index's lock.
type Owners interface {
	// OwnerOf returns the UID of a ReplicaSet and that of the object that controls it, which is 0 if there is none.
	// isKnown is false while the ReplicaSet is not in a cache.
	OwnerOf(namespace, replicaSet string) (of, owner observe.UID, isKnown bool)
}

// undeterminedFor is how long a pod may wait for its ReplicaSet. The watches of the two are milliseconds apart. A
// ReplicaSet that does not come has been deleted.
const undeterminedFor = time.Minute

// ownership is the result of a check whether an object owns a pod.
type ownership uint8

const (
	notOwned ownership = iota
	isOwned
	notKnown
)

// ownership checks whether the object owns the pod: it controls it, or the pod's ReplicaSet.
func (ns *namespace) ownership(owner observe.UID, pod *observe.Pod) ownership {
	controller := pod.Controller()
	switch {
	case controller.UID == owner:
		return isOwned
	case controller.ReplicaSet == "" || ns.owners == nil:
		return notOwned
	}
	switch of, by, ok := ns.owners.OwnerOf(pod.Namespace(), controller.ReplicaSet); {
	case !ok, of != controller.UID:
		// The cache may still have an earlier one of this name.
		return notKnown
	case by == owner:
		return isOwned
	}
	return notOwned
}

// assign puts a pod into every group that selects it.
func (ns *namespace) assign(m *member) {
	for g := range ns.candidates(m.pod) {
		ns.offer(g, m)
	}
}

// offer puts a pod into a group if that selects it.
func (ns *namespace) offer(g *group, m *member) {
	if !g.selector.Matches(m.pod.Labels()) {
		return
	}
	owned := isOwned
	if g.selector.owner != 0 {
		owned = ns.ownership(g.selector.owner, m.pod)
	}
	switch owned {
	case isOwned:
		m.join(g)
	case notKnown:
		if !slices.Contains(ns.undetermined, m) {
			ns.undetermined = append(ns.undetermined, m)
		}
	case notOwned:
	}
}

// determine resolves a pending pod once its ReplicaSet is known.
func (ns *namespace) determine(m *member) {
	if i := slices.Index(ns.undetermined, m); i >= 0 {
		ns.undetermined = slices.Delete(ns.undetermined, i, i+1)
	}
}

// OwnerChanged records that the cache has a new ReplicaSet, or that the controller of one has changed. It returns the
// objects whose pods have changed.
func (x *Index) OwnerChanged(namespace, replicaSet string, isNew bool) (changed []observe.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespaces[namespace]
	if ns == nil || ns.byOwner == 0 {
		return nil
	}
	var members []*member
	if isNew {
		members = slices.Clone(ns.undetermined)
	} else {
		for _, m := range ns.pods {
			members = append(members, m)
		}
	}
	for _, m := range members {
		if m.pod.Controller().ReplicaSet != replicaSet {
			continue
		}
		m.leaveAll()
		ns.determine(m)
		ns.assign(m)
		for g := range ns.candidates(m.pod) {
			if g.selector.owner != 0 && g.selector.Matches(m.pod.Labels()) && !slices.Contains(changed, g.object) {
				changed = append(changed, g.object)
			}
		}
	}
	return changed
}

// IsUndetermined reports whether a pod may be the object's, but its owner is unknown yet.
func (x *Index) IsUndetermined(object observe.Key, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, g := x.namespaces[object.Namespace], x.groupLocked(object)
	if g == nil || g.selector.owner == 0 {
		return false
	}
	return slices.ContainsFunc(ns.undetermined, func(m *member) bool {
		isYoung := now.UnixNano()-m.pod.Created < int64(undeterminedFor)
		return isYoung && !m.pod.Deleting && g.selector.Matches(m.pod.Labels())
	})
}
