package targets

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Watch calls changed with each target that is new or whose replica count has changed, until stop is called.
func (c *Cache) Watch(changed func(id ID, replicas int32)) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	for gk, k := range c.stores {
		registration, addErr := k.informer.AddEventHandler(counts{kind: gk, changed: changed})
		if addErr != nil {
			err = errors.Join(err, fmt.Errorf("watching %s: %w", k.resource, addErr))
			continue
		}
		// It fails only after the informer has ended.
		stops = append(stops, func() { _ = k.informer.RemoveEventHandler(registration) })
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// WatchOwners calls changed with each ReplicaSet that is new, and with each that another object
// controls than before, until stop is called.
func (c *Cache) WatchOwners(changed func(namespace, replicaSet string, isNew bool)) (stop func(), err error) {
	informer := c.stores[replicaSets].informer
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if set, ok := ownedOf(object); ok {
				changed(set.namespace, set.name, true)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := ownedOf(before)
			set, alsoOK := ownedOf(after)
			if ok && alsoOK && (old.uid != set.uid || old.owner != set.owner) {
				changed(set.namespace, set.name, false)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching ReplicaSets: %w", err)
	}
	// It fails only after the informer has ended.
	return func() { _ = informer.RemoveEventHandler(registration) }, nil
}

// counts reports the replica counts that change.
type counts struct {
	kind    schema.GroupKind
	changed func(id ID, replicas int32)
}

var _ cache.ResourceEventHandler = counts{}

// OnAdd implements cache.ResourceEventHandler.
func (w counts) OnAdd(object any, isInInitialList bool) {
	if !isInInitialList {
		w.notify(object)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (w counts) OnUpdate(before, after any) {
	if replicasOf(before) != replicasOf(after) {
		w.notify(after)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (counts) OnDelete(any) {}

func (w counts) notify(object any) {
	if o, ok := object.(interface {
		GetNamespace() string
		GetName() string
	}); ok {
		w.changed(ID{Kind: w.kind, Name: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}},
			replicasOf(object))
	}
}

func replicasOf(object any) int32 {
	var replicas *int32
	switch o := object.(type) {
	case *autoscalingv1.Scale:
		return o.Spec.Replicas
	case *appsv1.Deployment:
		replicas = o.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = o.Spec.Replicas
	case *appsv1.ReplicaSet:
		replicas = o.Spec.Replicas
	}
	if replicas == nil {
		return 1
	}
	return *replicas
}
