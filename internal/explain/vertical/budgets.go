package vertical

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// budgets are PodDisruptionBudgets that evictions use up, as the API server counts
// them (pkg/registry/core/pod/storage/eviction.go, v1.37).
type budgets []budget

type budget struct {
	selector labels.Selector
	// left is the number of permitted evictions.
	left int32
	// sickGo permits evictions of pods that are not ready: always, or while enough others are.
	sickGo bool
}

func newBudgets(objects []*policyv1.PodDisruptionBudget) budgets {
	var all budgets
	for _, object := range objects {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil {
			continue
		}
		status := &object.Status
		b := budget{selector: selector, left: status.DisruptionsAllowed}
		if status.ObservedGeneration < object.Generation {
			b.left = 0 // the disruption controller has not counted since it was changed
		}
		always := object.Spec.UnhealthyPodEvictionPolicy != nil &&
			*object.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		b.sickGo = always || status.CurrentHealthy >= status.DesiredHealthy && status.DesiredHealthy > 0
		all = append(all, b)
	}
	return all
}

func (all budgets) evict(pods []*corev1.Pod, uid string) update.Outcome {
	at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return string(p.UID) == uid })
	if at < 0 {
		return update.Gone
	}
	pod := pods[at]
	if pod.Status.Phase == corev1.PodPending {
		return update.Done // no budget counts it
	}
	var of *budget
	for i := range all {
		switch {
		case !all[i].selector.Matches(labels.Set(pod.Labels)):
		case of != nil:
			return update.Failed // the API server evicts no pod that several budgets select
		default:
			of = &all[i]
		}
	}
	switch {
	case of == nil, of.sickGo && !isReady(pod):
		return update.Done
	case of.left <= 0:
		return update.Disallowed
	}
	of.left--
	return update.Done
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
