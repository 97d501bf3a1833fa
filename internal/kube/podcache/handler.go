package podcache

import (
	"k8s.io/client-go/tools/cache"
)

// Handler is called when pods are added, changed and removed. The pods must not be changed.
type Handler[P any] struct {
	// Add is called with a pod that is new to the handler.
	Add func(pod P, isInInitialList bool)
	// Update is called with a pod before and after a change. If it is nil, Add is called with the pod after it.
	Update func(before, after P)
	Delete func(pod P)
}

// Registration is a handler of a cache.
type Registration struct {
	cache.ResourceEventHandlerRegistration
	informer cache.SharedIndexInformer
}

// Remove ends the calls of the handler.
func (r *Registration) Remove() {
	// It fails only after the informer has ended.
	_ = r.informer.RemoveEventHandler(r.ResourceEventHandlerRegistration)
}

// register adds a handler to an informer, with pods as of returns them.
func register[P any](
	informer cache.SharedIndexInformer, h Handler[P], of func(any) (P, bool),
) (*Registration, error) {
	registration, err := informer.AddEventHandler(adapter[P]{h, of})
	if err != nil {
		return nil, err
	}
	return &Registration{registration, informer}, nil
}

// adapter is a Handler for an informer.
type adapter[P any] struct {
	Handler[P]
	of func(object any) (P, bool)
}

var _ cache.ResourceEventHandler = adapter[any]{}

// OnAdd implements cache.ResourceEventHandler.
func (a adapter[P]) OnAdd(object any, isInInitialList bool) {
	if pod, ok := a.of(object); ok {
		a.Add(pod, isInInitialList)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (a adapter[P]) OnUpdate(before, after any) {
	if a.Update == nil {
		a.OnAdd(after, false)
		return
	}
	old, ok := a.of(before)
	pod, alsoOK := a.of(after)
	if ok && alsoOK {
		a.Update(old, pod)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (a adapter[P]) OnDelete(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := a.of(object); ok {
		a.Delete(pod)
	}
}
