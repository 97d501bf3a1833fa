package webhook

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Owners finds the owners of objects, from caches alone; ownership.Tree implements it.
type Owners interface {
	TopmostKnown(object metav1.Object) (ownership.Owner, bool, error)
	SelectorKnown(o ownership.Owner) (labels.Selector, error)
}

// byTarget is the index of objects by the workload that they name.
const byTarget = "plimsoll.dev/admission-target"

// MatchIndexers are the indexers that NewMatcher requires beside that by namespace.
func MatchIndexers() cache.Indexers {
	return cache.Indexers{byTarget: func(object any) ([]string, error) {
		vpa, isVPA := object.(*vpav1.VerticalPodAutoscaler)
		if !isVPA || vpa.Spec.TargetRef == nil {
			return nil, nil
		}
		to := vpa.Spec.TargetRef
		return []string{targetKey(vpa.Namespace, to.APIVersion, to.Kind, to.Name)}, nil
	}}
}

func targetKey(namespace, version, kind, name string) string {
	return strings.Join([]string{namespace, observe.GroupKey(version), kind, name}, "/")
}

// CacheMatcher finds objects in an index by the topmost owner of a pod.
type CacheMatcher struct {
	vpas   cache.Indexer
	owners Owners
}

// NewMatcher makes a Matcher that finds VerticalPodAutoscalers in an indexer with MatchIndexers and by namespace.
func NewMatcher(vpas cache.Indexer, owners Owners) *CacheMatcher {
	return &CacheMatcher{vpas: vpas, owners: owners}
}

// Match implements webhook.Matcher.
func (m *CacheMatcher) Match(pod *corev1.Pod) (*vpav1.VerticalPodAutoscaler, error) {
	// Most namespaces have none, and any kind may own their pods.
	if some, err := m.vpas.IndexKeys(cache.NamespaceIndex, pod.Namespace); err != nil || len(some) == 0 {
		return nil, err
	}
	owner, owned, err := m.topmost(pod)
	if err != nil || !owned {
		return nil, err
	}
	found, err := m.vpas.ByIndex(byTarget, targetKey(owner.Namespace, owner.APIVersion, owner.Kind, owner.Name))
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	var controlling *vpav1.VerticalPodAutoscaler
	for _, object := range found {
		if vpa, isVPA := object.(*vpav1.VerticalPodAutoscaler); isVPA {
			controlling = observevertical.ControllingVPA(controlling, vpa)
		}
	}
	if controlling == nil {
		return nil, nil
	}
	// All of them name the same workload, so that one selector applies to all.
	selector, err := m.owners.SelectorKnown(owner)
	switch {
	case errors.Is(err, ownership.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	case !selector.Matches(labels.Set(pod.Labels)):
		return nil, nil
	}
	return controlling, nil
}

// topmost returns the topmost owner. The first pods of a rollout often come before their ReplicaSet is in the cache;
// its owner follows from its name.
func (m *CacheMatcher) topmost(pod *corev1.Pod) (ownership.Owner, bool, error) {
	owner, owned, err := m.owners.TopmostKnown(pod)
	if !errors.Is(err, ownership.ErrNotFound) {
		return owner, owned, err
	}
	above, derived := aboveMissing(pod)
	if !derived {
		return owner, owned, err
	}
	below := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, OwnerReferences: []metav1.OwnerReference{above},
	}}
	owner, owned, derivedErr := m.owners.TopmostKnown(below)
	if derivedErr != nil {
		return ownership.Owner{}, false, err
	}
	return owner, owned, nil
}

// aboveMissing returns the owner of the pod's owner, if that has a name from a Deployment: its own and the hash of the
// template, which is a label of the pod; or from a CronJob: its own and the time.
func aboveMissing(pod *corev1.Pod) (metav1.OwnerReference, bool) {
	controller := metav1.GetControllerOf(pod)
	if controller == nil {
		return metav1.OwnerReference{}, false
	}
	above := metav1.OwnerReference{Controller: ptr.To(true)}
	name, suffix := controller.Name, ""
	if dash := strings.LastIndexByte(name, '-'); dash > 0 {
		name, suffix = name[:dash], name[dash+1:]
	}
	switch {
	case suffix == "":
		return metav1.OwnerReference{}, false
	case controller.Kind == "ReplicaSet" && suffix == pod.Labels["pod-template-hash"]:
		above.APIVersion, above.Kind, above.Name = "apps/v1", "Deployment", name
	case controller.Kind == "Job" && strings.Trim(suffix, "0123456789") == "":
		above.APIVersion, above.Kind, above.Name = "batch/v1", "CronJob", name
	default:
		return metav1.OwnerReference{}, false
	}
	return above, true
}
