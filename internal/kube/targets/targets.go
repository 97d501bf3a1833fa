// Package targets reads the scales of Deployments, StatefulSets and ReplicaSets from informers, so that reading one
// costs no call. If no other package reads the objects, the informers hold scales in their place, and stay private.
package targets

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Cache answers for the scales of the apps/v1 kinds.
type Cache struct {
	// stores are by the key of their kind.
	stores map[schema.GroupKind]kind
	// factory starts the informers; nil if they are others'.
	factory informers.SharedInformerFactory

	// mu guards seen, resource versions that the caches may lack yet. Until they have them, the scale is read from the API
	// server.
	mu   sync.Mutex
	seen map[ID]string
	// made caches the scales of objects, as most are read many times before they change. A dropped one is made again.
	made map[ID]made
	// most is the size of made at which the scales of deleted objects are removed.
	most int
}

// leastMost keeps small caches from being swept often.
const leastMost = 1000

type made struct {
	of    any
	scale *autoscalingv1.Scale
}

// ID identifies a target. Two references to the same object have the same ID.
type ID struct {
	// Kind is its key, observe.KindKey.
	Kind schema.GroupKind
	Name types.NamespacedName
}

// IDOf returns the ID of an object of this kind.
func IDOf(gk schema.GroupKind, namespace, name string) ID {
	return ID{Kind: keyOf(gk), Name: types.NamespacedName{Namespace: namespace, Name: name}}
}

func keyOf(gk schema.GroupKind) schema.GroupKind {
	return schema.GroupKind{Group: gk.Group, Kind: observe.KindKey(gk.Kind)}
}

// replicaSets is the kind that Deployments, and others, control.
var replicaSets = schema.GroupKind{Group: appsv1.GroupName, Kind: "replicaset"}

type kind struct {
	name     string
	resource schema.GroupResource
	informer cache.SharedIndexInformer
}

var _ scale.Source = (*Cache)(nil)

// New makes a Cache with informers of its own. It starts nothing.
func New(client kubernetes.Interface) *Cache {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(toScale))
	c := Over(factory.Apps().V1())
	c.factory = factory
	return c
}

// Over makes a Cache over informers that others read too. It gets them from the factory, and does not start them.
func Over(apps appsinformers.Interface) *Cache {
	c := &Cache{stores: map[schema.GroupKind]kind{}, seen: map[ID]string{}, made: map[ID]made{}, most: leastMost}
	add := func(name, resource string, informer cache.SharedIndexInformer) {
		c.stores[keyOf(schema.GroupKind{Group: appsv1.GroupName, Kind: name})] = kind{
			name:     name,
			resource: schema.GroupResource{Group: appsv1.GroupName, Resource: resource},
			informer: informer,
		}
	}
	add("Deployment", "deployments", apps.Deployments().Informer())
	add("StatefulSet", "statefulsets", apps.StatefulSets().Informer())
	add("ReplicaSet", "replicasets", apps.ReplicaSets().Informer())
	return c
}

// Start starts the informers that New made, until ctx ends.
func (c *Cache) Start(ctx context.Context) {
	if c.factory != nil {
		c.factory.Start(ctx.Done())
	}
}

// HasSynced reports whether every cache is filled.
func (c *Cache) HasSynced() bool {
	for _, k := range c.stores {
		if !k.informer.HasSynced() {
			return false
		}
	}
	return true
}

// Scale implements scale.Source. The scale is shared and must not be changed; the same one is returned until the object
// changes. An object that is missing from the cache may still exist: read it from the API server then.
func (c *Cache) Scale(gk schema.GroupKind, namespace, name string) (scale.Target, bool) {
	id := IDOf(gk, namespace, name)
	k, ok := c.stores[id.Kind]
	if !ok || gk.Kind != k.name && gk.Kind != id.Kind.Kind {
		// The API server has no such spelling.
		return scale.Target{}, false
	}
	object, exists, err := k.informer.GetStore().GetByKey(id.Name.String())
	if err != nil || !exists {
		return scale.Target{}, false
	}
	s, err := c.of(id, object)
	if err != nil || !c.shows(id, s.ResourceVersion) {
		return scale.Target{}, false
	}
	return scale.Target{Resource: k.resource, Scale: s}, true
}

// of returns the scale of an object, which must not be changed.
func (c *Cache) of(id ID, object any) (*autoscalingv1.Scale, error) {
	if s, isScale := object.(*autoscalingv1.Scale); isScale {
		return s, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.made[id]; ok && m.of == object {
		return m.scale, nil
	}
	s, err := ScaleOf(object)
	if err != nil {
		return nil, err
	}
	c.made[id] = made{of: object, scale: s}
	if len(c.made) > c.most {
		c.sweepLocked()
	}
	return s, nil
}

// sweepLocked drops the scales of deleted objects.
func (c *Cache) sweepLocked() {
	for id := range c.made {
		if _, exists, err := c.stores[id.Kind].informer.GetStore().GetByKey(id.Name.String()); err != nil || !exists {
			delete(c.made, id)
		}
	}
	c.most = max(leastMost, 2*len(c.made))
}

// Saw records a scale from the API server: the cache serves nothing older than that until its watch has caught up.
func (c *Cache) Saw(resource schema.GroupResource, seen *autoscalingv1.Scale) {
	for gk, k := range c.stores {
		if k.resource != resource {
			continue
		}
		c.mu.Lock()
		c.seen[ID{Kind: gk, Name: types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name}}] = seen.ResourceVersion
		c.mu.Unlock()
	}
}

// shows reports whether the cached version is as new as the last seen. Versions that cannot be compared count as new
// enough.
func (c *Cache) shows(id ID, cached string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, ok := c.seen[id]
	if !ok {
		return true
	}
	if order, err := resourceversion.CompareResourceVersion(cached, seen); err == nil && order < 0 {
		return false
	}
	delete(c.seen, id)
	return true
}

// ScaleOf returns the scale of an object of one of the kinds in the form of the API server's scale subresource. It
// fails if the selector is invalid.
func ScaleOf(object any) (*autoscalingv1.Scale, error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return convert(&o.ObjectMeta, o.Spec.Replicas, o.Status.Replicas, o.Spec.Selector)
	case *appsv1.StatefulSet:
		return convert(&o.ObjectMeta, o.Spec.Replicas, o.Status.Replicas, o.Spec.Selector)
	case *appsv1.ReplicaSet:
		return convert(&o.ObjectMeta, o.Spec.Replicas, o.Status.Replicas, o.Spec.Selector)
	}
	return nil, fmt.Errorf("no scale known for %T", object)
}

func convert(
	object *metav1.ObjectMeta, specReplicas *int32, statusReplicas int32, labelSelector *metav1.LabelSelector,
) (*autoscalingv1.Scale, error) {
	selector, err := metav1.LabelSelectorAsSelector(labelSelector)
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	replicas := int32(1) // the API's default
	if specReplicas != nil {
		replicas = *specReplicas
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              object.Name,
			Namespace:         object.Namespace,
			UID:               object.UID,
			ResourceVersion:   object.ResourceVersion,
			CreationTimestamp: object.CreationTimestamp,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: statusReplicas, Selector: selector.String()},
	}, nil
}
