// Package workloads finds the pods that each VerticalPodAutoscaler controls, and the inputs of decisions on them. It
// only reads caches.
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

// Sources has the caches that a Finder reads.
type Sources struct {
	// Autoscalers is the informer of the VerticalPodAutoscalers, Informers has those of all other objects but pods.
	Autoscalers cache.SharedIndexInformer
	Informers   informers.SharedInformerFactory
	Pods        *podcache.Whole
	Owners      *ownership.Tree
}

// Config configures a Finder.
type Config struct {
	Sources
	// Conflicts returns the conflicts with horizontal autoscalers; it may be nil.
	Conflicts func(*vpav1.VerticalPodAutoscaler, []string) []conflict.Conflict
	// Resizes reports whether the API server can resize pods; nil if it can.
	Resizes func() bool
	// Covers reports whether admission changes the pods of a namespace.
	Covers func(namespace string) bool
	Log    logr.Logger

	// Defaults has the operator's settings, for fields that an object does not set.
	Defaults *update.Policy
	Gates    observevertical.Gates
	// Namespace restricts the objects to one namespace; empty means all. Those in Ignored are excluded.
	Namespace string
	Ignored   []string
}

// Finder finds workloads.
type Finder struct {
	cfg    Config
	caches caches
	// byCreator has pods by their controllers, byBoost those with a start-up boost by their namespaces.
	byCreator, byBoost podcache.Index
}

// New adds indexes to the cache of pods, which must not run yet.
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

// HasSynced reports whether the caches are filled.
func (f *Finder) HasSynced() bool {
	return f.cfg.Autoscalers.HasSynced() && f.cfg.Owners.HasSynced() && f.cfg.Pods.HasSynced() && f.caches.hasSynced()
}

// Nodes returns the objects in the nodes' cache.
func (f *Finder) Nodes() []any { return f.caches.nodes.GetStore().List() }

// ReadyBoosted yields the ready pods with a start-up boost. Its cost grows with these pods alone.
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
