package world

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// watch makes the factory's informers pass nodes, pods and services to the world. What it returns reports whether
// they have passed all there is: an informer's cache is filled before its handlers have run.
func (w *World) watch(factory informers.SharedInformerFactory) ([]cache.InformerSynced, error) {
	core := factory.Core().V1()
	nodes, errNodes := core.Nodes().Informer().AddEventHandler(handler(w.setNode, w.deleteNode))
	pods, errPods := core.Pods().Informer().AddEventHandler(handler(w.setPod, w.deletePod))
	services, errServices := core.Services().Informer().AddEventHandler(handler(w.setService, w.deleteService))
	if err := errors.Join(errNodes, errPods, errServices); err != nil {
		return nil, err
	}
	return []cache.InformerSynced{nodes.HasSynced, pods.HasSynced, services.HasSynced}, nil
}

// handler treats additions and updates alike, and unwraps an informer's last state of an object whose deletion it
// missed.
func handler[T corev1.Node | corev1.Pod | corev1.Service](set, deleted func(*T)) cache.ResourceEventHandler {
	call := func(f func(*T), object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if typed, ok := object.(*T); ok {
			f(typed)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { call(set, object) },
		UpdateFunc: func(_, object any) { call(set, object) },
		DeleteFunc: func(object any) { call(deleted, object) },
	}
}

// dropManagedFields halves the caches.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
