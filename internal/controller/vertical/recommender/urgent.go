package recommender

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// urgent has the objects to decide at once: new and changed ones.
type urgent struct {
	// wake has an element if there is one, or if a container ran out of memory.
	wake chan struct{}

	// mu guards the following.
	mu    sync.Mutex
	names map[types.NamespacedName]struct{}
}

var _ cache.ResourceEventHandler = (*urgent)(nil)

func newUrgent() *urgent {
	return &urgent{wake: make(chan struct{}, 1), names: map[types.NamespacedName]struct{}{}}
}

func (u *urgent) add(name types.NamespacedName) {
	u.mu.Lock()
	u.names[name] = struct{}{}
	u.mu.Unlock()
	u.signal()
}

func (u *urgent) signal() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *urgent) take() map[types.NamespacedName]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.names
	u.names = map[types.NamespacedName]struct{}{}
	return taken
}

// OnAdd implements cache.ResourceEventHandler.
func (u *urgent) OnAdd(object any, isInInitialList bool) {
	if a, ok := object.(*vpav1.VerticalPodAutoscaler); ok && !isInInitialList {
		u.add(nameOf(a))
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (u *urgent) OnUpdate(before, after any) {
	old, ok := before.(*vpav1.VerticalPodAutoscaler)
	a, alsoOK := after.(*vpav1.VerticalPodAutoscaler)
	if ok && alsoOK && (old.Generation != a.Generation || old.UID != a.UID) {
		u.add(nameOf(a))
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (*urgent) OnDelete(any) {}
