package podcache

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Whole is a Cache that also has the pods of the API, with the fields that the vertical side reads.
type Whole struct{ *Cache }

// NewShared makes a cache of all namespaces for both sides. A pod of the API is made for each read, which costs some
// allocations. It starts nothing.
func NewShared(client kubernetes.Interface, keep ...Keep) *Whole {
	return &Whole{newCache(client, metav1.NamespaceAll, transformOf(toShared, keep))}
}

// NewWhole makes a cache of a namespace, or of all if it is empty, for the vertical side alone. It holds the pods of
// the API, unless it keeps fields that these lack. It starts nothing.
func NewWhole(client kubernetes.Interface, namespace string, keep ...Keep) *Whole {
	if len(keep) > 0 {
		return &Whole{newCache(client, namespace, transformOf(toShared, keep))}
	}
	return &Whole{newCache(client, namespace, toSlim)}
}

// FromInformer reads an informer of pods of the API, which its owner starts.
func FromInformer(informer cache.SharedIndexInformer) *Whole {
	return &Whole{&Cache{informer: informer}}
}

// Pod returns the pod of this name; nil if there is none. It must not be changed.
func (w *Whole) Pod(namespace, name string) *corev1.Pod {
	pod, _ := podOf(w.get(namespace, name))
	return pod
}

// List is all pods.
func (w *Whole) List() List { return List{w.informer.GetStore().List()} }

// AddPodHandler calls a handler for the pods in the cache, and for each change.
func (w *Whole) AddPodHandler(h Handler[*corev1.Pod]) (*Registration, error) {
	return register(w.informer, h, podOf)
}

// AddIndex adds an index of the pods for which key reports true, by its value. The name must be new.
func (w *Whole) AddIndex(name string, key func(*corev1.Pod) (value string, isIndexed bool)) (Index, error) {
	err := w.informer.AddIndexers(cache.Indexers{name: func(object any) ([]string, error) {
		if pod, ok := podOf(object); ok {
			if value, isIndexed := key(pod); isIndexed {
				return []string{value}, nil
			}
		}
		return nil, nil
	}})
	if err != nil {
		return Index{}, fmt.Errorf("indexing pods by %s: %w", name, err)
	}
	return Index{w.informer.GetIndexer(), name}, nil
}

// Index finds pods by a value.
type Index struct {
	indexer cache.Indexer
	name    string
}

// Values returns the values of all pods.
func (x Index) Values() []string { return x.indexer.ListIndexFuncValues(x.name) }

// Pods returns the pods with this value.
func (x Index) Pods(value string) List {
	// The index is there, and its function returns no error.
	objects, _ := x.indexer.ByIndex(x.name, value)
	return List{objects}
}

// List is some pods of a cache.
type List struct{ objects []any }

// Len returns their number.
func (l List) Len() int { return len(l.objects) }

// All yields the pods in no order. They must not be changed.
func (l List) All() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, object := range l.objects {
			if pod, ok := podOf(object); ok && !yield(pod) {
				return
			}
		}
	}
}
