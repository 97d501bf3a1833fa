// Package workloads finds the pods that each VerticalPodAutoscaler controls, and what a
// decision on them has to observe. It reads caches alone.
package workloads

import (
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
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Sources are the caches that a Finder reads.
type Sources struct {
	// Autoscalers is the informer of the VerticalPodAutoscalers, Informers those of all
	// else but pods.
	Autoscalers cache.SharedIndexInformer
	Informers   informers.SharedInformerFactory
	Pods        *podcache.Whole
	Owners      *ownership.Tree
}

// Config is what a Finder needs.
type Config struct {
	Sources
	// Conflicts finds what horizontal autoscalers divide by; nil finds nothing.
	Conflicts func(*vpav1.VerticalPodAutoscaler, []string) []conflict.Conflict
	// Resizes reports whether the API server can resize pods; nil if it can.
	Resizes func() bool
	// Covers reports whether admission changes the pods of a namespace.
	Covers func(namespace string) bool
	Log    logr.Logger

	// Defaults are what the operator asks for where an object says nothing.
	Defaults *update.Policy
	Gates    observevertical.Gates
	// Namespace is the one to look at; all if it is empty. Ignored are left out.
	Namespace string
	Ignored   []string
}

// Finder finds workloads.
type Finder struct {
	cfg    Config
	caches caches
	// byCreator has pods by the controller that made them, byBoost those with a start-up
	// boost by their namespace.
	byCreator, byBoost podcache.Index
}

// New adds the indexes that a Finder needs to the cache of pods, which must not run yet.
func New(cfg Config) (*Finder, error) {
	byCreator, err := cfg.Pods.AddIndex("plimsoll.dev/creator", creatorKey)
	if err != nil {
		return nil, err
	}
	byBoost, err := cfg.Pods.AddIndex("plimsoll.dev/boost", boostKey)
	if err != nil {
		return nil, err
	}
	return &Finder{cfg: cfg, caches: newCaches(cfg.Informers), byCreator: byCreator, byBoost: byBoost}, nil
}

// HasSynced reports that the caches are filled.
func (f *Finder) HasSynced() bool {
	return f.cfg.Autoscalers.HasSynced() && f.cfg.Owners.HasSynced() && f.cfg.Pods.HasSynced() && f.caches.hasSynced()
}

// Nodes are the objects in the nodes' cache.
func (f *Finder) Nodes() []any { return f.caches.nodes.GetStore().List() }

// ReadyBoosted are the ready pods with a start-up boost. It costs what these pods are.
func (f *Finder) ReadyBoosted() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, namespace := range f.byBoost.Values() {
			for pod := range f.byBoost.Pods(namespace).All() {
				if lives(pod) && isReady(pod) && !yield(pod) {
					return
				}
			}
		}
	}
}

func creatorKey(pod *corev1.Pod) (key string, isIndexed bool) {
	for i := range pod.OwnerReferences {
		if owner := &pod.OwnerReferences[i]; owner.Controller != nil && *owner.Controller {
			return pod.Namespace + "/" + owner.Kind + "/" + owner.Name, true
		}
	}
	return "", false
}

func boostKey(pod *corev1.Pod) (key string, isIndexed bool) {
	return pod.Namespace, observevertical.IsBoosted(pod)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func lives(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !hasEnded(pod) }

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
