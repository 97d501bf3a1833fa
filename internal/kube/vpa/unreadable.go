package vpa

import (
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Unreadable follows the objects of an informer that could not be read. It logs each
// when it becomes so, and when that changes.
type Unreadable struct {
	log logr.Logger

	mu  sync.Mutex
	all map[string]string // guarded by mu
}

var _ cache.ResourceEventHandler = (*Unreadable)(nil)

// NewUnreadable makes a handler; the caller adds it to the informer.
func NewUnreadable(log logr.Logger) *Unreadable {
	return &Unreadable{log: log, all: map[string]string{}}
}

// Count returns the number of unreadable objects.
func (u *Unreadable) Count() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return float64(len(u.all))
}

// OnAdd implements cache.ResourceEventHandler.
func (u *Unreadable) OnAdd(object any, _ bool) { u.update(object) }

// OnUpdate implements cache.ResourceEventHandler.
func (u *Unreadable) OnUpdate(_, object any) { u.update(object) }

// OnDelete implements cache.ResourceEventHandler.
func (u *Unreadable) OnDelete(object any) {
	if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		u.set(name, "")
	}
}

func (u *Unreadable) update(object any) {
	if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok {
		u.set(vpa.Namespace+"/"+vpa.Name, vpa.Unreadable)
	}
}

func (u *Unreadable) set(name, why string) {
	u.mu.Lock()
	before := u.all[name]
	if why == "" {
		delete(u.all, name)
	} else {
		u.all[name] = why
	}
	u.mu.Unlock()
	switch why {
	case before:
	case "":
		u.log.Info("a VerticalPodAutoscaler can be decoded again, or is deleted", "vpa", name)
	default:
		u.log.Info("a VerticalPodAutoscaler cannot be decoded and is ignored", "vpa", name, "err", why)
	}
}
