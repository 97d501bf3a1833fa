// Package workloads finds the pods that each VerticalPodAutoscaler controls, and what a
// decision on them has to observe. It reads caches alone.
package workloads

import (
	"fmt"
	"iter"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Config is what a Finder reads from.
type Config struct {
	// Autoscalers is the informer of the VerticalPodAutoscalers, Informers those of all
	// else. Pods may be transformed by slim.Transform.
	Autoscalers cache.SharedIndexInformer
	Informers   informers.SharedInformerFactory
	Owners      *ownership.Tree
	// Conflicts finds what horizontal autoscalers divide by; nil finds nothing.
	Conflicts func(*vpav1.VerticalPodAutoscaler, []string) []conflict.Conflict
	// Resizes reports whether the API server can resize pods; nil if it can.
	Resizes func() bool
	// Covers reports whether admission changes the pods of a namespace.
	Covers func(namespace string) bool
	Log    logr.Logger

	// Flags are what the operator asks for where an object says nothing.
	Flags *update.Policy
	Gates observevertical.Gates
	// Namespace is the one to look at; all if it is empty. Ignored are left out.
	Namespace string
	Ignored   []string
}

// Finder finds workloads.
type Finder struct {
	cfg    Config
	pods   cache.Indexer
	caches caches
}

// New adds the indexes that a Finder needs to the informers, which must not run yet.
func New(cfg Config) (*Finder, error) {
	pods := cfg.Informers.Core().V1().Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{byCreator: creatorKey, byBoost: boostKey}); err != nil {
		return nil, fmt.Errorf("indexing pods: %w", err)
	}
	return &Finder{cfg: cfg, pods: pods.GetIndexer(), caches: newCaches(cfg.Informers)}, nil
}

// HasSynced reports that the caches are filled.
func (f *Finder) HasSynced() bool {
	return f.cfg.Autoscalers.HasSynced() && f.cfg.Owners.HasSynced() && f.caches.hasSynced()
}

// Nodes are the objects in the nodes' cache.
func (f *Finder) Nodes() []any { return f.caches.nodes.GetStore().List() }

// ReadyBoosted are the ready pods with a start-up boost. It costs what these pods are.
func (f *Finder) ReadyBoosted() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, namespace := range f.pods.ListIndexFuncValues(byBoost) {
			// The index is there, and its function returns no error.
			objects, _ := f.pods.ByIndex(byBoost, namespace)
			for _, object := range objects {
				if pod, ok := slim.Pod(object); ok && lives(pod) && isReady(pod) && !yield(pod) {
					return
				}
			}
		}
	}
}

// Indexes of the pods' cache: by the controller that made them, and those with a
// start-up boost.
const (
	byCreator = "plimsoll.dev/creator"
	byBoost   = "plimsoll.dev/boost"
)

func creatorKey(object any) ([]string, error) {
	pod, ok := slim.Pod(object)
	if !ok {
		return nil, nil
	}
	for i := range pod.OwnerReferences {
		if owner := &pod.OwnerReferences[i]; owner.Controller != nil && *owner.Controller {
			return []string{pod.Namespace + "/" + owner.Kind + "/" + owner.Name}, nil
		}
	}
	return nil, nil
}

func boostKey(object any) ([]string, error) {
	pod, ok := slim.Pod(object)
	if ok && observevertical.IsBoosted(pod) {
		return []string{pod.Namespace}, nil
	}
	return nil, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
