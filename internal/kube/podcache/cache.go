// Package podcache caches the pods of a cluster. Its informers hold less of a pod than the API has, and other types
// than informers of pods usually do, so they stay private: the methods return observe.Pod, which the horizontal side
// reads, and corev1.Pod with the fields that the vertical side reads.
package podcache

import (
	"context"
	"iter"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Cache has the pods of a cluster in the form that horizontal decisions read.
type Cache struct {
	informer cache.SharedIndexInformer
	// factory starts the informer; nil if the informer came from outside.
	factory informers.SharedInformerFactory
	// byNamespace adds an index by namespace when it is first needed.
	byNamespace sync.Once
}

// Keep is a field of pods that only some installations need.
type Keep int

// Running keeps observe.Pod's Running.
const Running Keep = 1

// RunningIf keeps observe.Pod's Running if it is needed.
func RunningIf(isNeeded bool) []Keep {
	if isNeeded {
		return []Keep{Running}
	}
	return nil
}

// New makes a cache of all namespaces for the horizontal side alone. It starts nothing.
func New(client kubernetes.Interface, keep ...Keep) *Cache {
	return newCache(client, metav1.NamespaceAll, transformOf(toObserved, keep))
}

// newCache makes a cache without an index by namespace: pods are found by their targets, and the index would take 46
// bytes for each of them. InNamespace adds it.
func newCache(client kubernetes.Interface, namespace string, transform cache.TransformFunc) *Cache {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(transform))
	informer := factory.InformerFor(&corev1.Pod{},
		func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return coreinformers.NewFilteredPodInformer(client, namespace, resync, cache.Indexers{}, nil)
		})
	return &Cache{informer: informer, factory: factory}
}

// Start fills the cache and follows changes until ctx ends. A second call does nothing.
func (c *Cache) Start(ctx context.Context) {
	if c.factory != nil {
		c.factory.Start(ctx.Done())
	}
}

// HasSynced reports whether the cache is filled.
func (c *Cache) HasSynced() bool { return c.informer.HasSynced() }

// Observed returns the pod of this name; nil if there is none. It must not be changed.
func (c *Cache) Observed(namespace, name string) *observe.Pod {
	pod, _ := observedOf(c.get(namespace, name))
	return pod
}

const namespaceIndex = "plimsoll-namespace"

// InNamespace returns the pods of a namespace, in any order. They must not be changed. The first call reads all pods of
// the cache.
func (c *Cache) InNamespace(namespace string) iter.Seq[*observe.Pod] {
	c.byNamespace.Do(func() {
		// It fails only after the informer has ended.
		_ = c.informer.AddIndexers(cache.Indexers{namespaceIndex: func(object any) ([]string, error) {
			if pod, ok := observedOf(object); ok {
				return []string{pod.Namespace()}, nil
			}
			return nil, nil
		}})
	})
	return func(yield func(*observe.Pod) bool) {
		// Without the index the result is empty.
		objects, _ := c.informer.GetIndexer().ByIndex(namespaceIndex, namespace)
		for _, object := range objects {
			if pod, ok := observedOf(object); ok && !yield(pod) {
				return
			}
		}
	}
}

// get returns the informer's object of this name; nil if there is none.
func (c *Cache) get(namespace, name string) any {
	// A key made of valid names cannot fail.
	object, _, _ := c.informer.GetStore().GetByKey(namespace + "/" + name)
	return object
}

// AddHandler calls a handler for the pods in the cache, and for each change.
func (c *Cache) AddHandler(h Handler[*observe.Pod]) (*Registration, error) {
	return register(c.informer, h, observedOf)
}
