// Package workloads caches WorkloadAutoscalers in the loop's form.
package workloads

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Cache has all WorkloadAutoscalers once the API server serves them.
type Cache struct {
	Client   *wla.Client
	informer cache.SharedIndexInformer
	log      logr.Logger
	// settle closes settled once the cache is filled, or the API server turned out not to serve the objects.
	settled chan struct{}
	settle  func()
}

// New returns a cache of the objects in a namespace; in all namespaces if it is empty. It starts nothing.
func New(client *wla.Client, namespace string, log logr.Logger) *Cache {
	informer := client.Informer(namespace, func(object any) (any, error) {
		if w, ok := object.(*plimsollv1alpha1.WorkloadAutoscaler); ok {
			translated := observehorizontal.WorkloadAutoscaler(w)
			return &translated, nil
		}
		return object, nil
	})
	settled := make(chan struct{})
	return &Cache{
		Client: client, informer: informer, log: log, settled: settled, settle: sync.OnceFunc(func() { close(settled) }),
	}
}

// Informer returns the underlying informer. Its objects are pointers to Autoscalers.
func (w *Cache) Informer() cache.SharedIndexInformer { return w.informer }

// Settled is closed when the cache has been filled, or the API server turned out not to serve the objects.
func (w *Cache) Settled() <-chan struct{} { return w.settled }

// Get returns an object from the cache.
func (w *Cache) Get(key observe.Key) (observehorizontal.Autoscaler, error) {
	object, exists, err := w.informer.GetIndexer().GetByKey(key.NamespacedName.String())
	if err != nil {
		return observehorizontal.Autoscaler{}, fmt.Errorf("reading the cache: %w", err)
	}
	found, ok := object.(*observehorizontal.Autoscaler)
	if !exists || !ok {
		return observehorizontal.Autoscaler{},
			apierrors.NewNotFound(plimsollv1alpha1.Resource(plimsollv1alpha1.WorkloadAutoscalers), key.Name)
	}
	return *found, nil
}

func (w *Cache) keys() []observe.Key {
	var keys []observe.Key
	for _, object := range w.informer.GetStore().List() {
		if found, ok := object.(*observehorizontal.Autoscaler); ok {
			keys = append(keys, found.Key())
		}
	}
	return keys
}

// Run fills the cache once the API server serves the objects. HPAs do not wait for that. It calls listed once, when the
// handler has received all objects of the first list. wait blocks until Run has ended.
func (w *Cache) Run(
	ctx context.Context, handler cache.ResourceEventHandler, listed func([]observe.Key),
) (wait func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// On an error AwaitServed asks again.
		if isServed, err := w.Client.Served(ctx); err == nil && !isServed {
			w.settle()
		}
		if w.Client.AwaitServed(ctx, w.log) != nil {
			return
		}
		registration, err := w.informer.AddEventHandler(handler)
		if err != nil {
			w.log.Error(err, "watching WorkloadAutoscalers")
			return
		}
		defer func() { _ = w.informer.RemoveEventHandler(registration) }()
		var listing sync.WaitGroup
		defer listing.Wait()
		listing.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
				listed(w.keys())
				w.settle()
			}
		})
		w.informer.RunWithContext(ctx)
	}()
	return func() { <-ended }
}

// Fill runs the cache without a handler, for readers of the Informer.
func (w *Cache) Fill(ctx context.Context) {
	w.Run(ctx, cache.ResourceEventHandlerFuncs{}, func([]observe.Key) {})
}
