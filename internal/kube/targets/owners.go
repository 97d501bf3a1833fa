package targets

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// OwnerOf returns the UID of a ReplicaSet and that of the object that controls it, which is 0 if there is none. isKnown
// is false while the ReplicaSet is not in the cache.
func (c *Cache) OwnerOf(namespace, replicaSet string) (of, owner observe.UID, isKnown bool) {
	// A key made of valid names cannot fail.
	object, exists, _ := c.stores[replicaSets].informer.GetStore().GetByKey(namespace + "/" + replicaSet)
	if !exists {
		return 0, 0, false
	}
	set, ok := ownedOf(object)
	return set.uid, set.owner, ok
}

// ownedOf returns the cached part of a ReplicaSet.
func ownedOf(object any) (set owned, ok bool) {
	switch o := object.(type) {
	case *owned:
		return *o, true
	case *autoscalingv1.Scale:
		return owned{namespace: o.Namespace, name: o.Name, uid: observe.UIDOf(o.UID)}, true
	case *appsv1.ReplicaSet:
		set = owned{namespace: o.Namespace, name: o.Name, uid: observe.UIDOf(o.UID)}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			set.owner = observe.UIDOf(owner.UID)
		}
		return set, true
	}
	return owned{}, false
}
