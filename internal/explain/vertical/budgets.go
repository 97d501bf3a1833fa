package vertical

import (
	"fmt"
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
	name     string
	selector labels.Selector
	// wanted is how many of the pods it wants to be healthy, of all that it expects; both are 0 if that is not counted.
	wanted, all int32
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
		b := budget{name: object.Name, selector: selector, left: status.DisruptionsAllowed}
		if status.ObservedGeneration < object.Generation {
			b.left = 0 // the disruption controller has not counted since it was changed
		} else {
			b.wanted, b.all = status.DesiredHealthy, status.ExpectedPods
		}
		always := object.Spec.UnhealthyPodEvictionPolicy != nil &&
			*object.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		b.sickGo = always || status.CurrentHealthy >= status.DesiredHealthy && status.DesiredHealthy > 0
		all = append(all, b)
	}
	return all
}

// of returns the budget that counts the eviction of a pod, nil if none does, and the API server's answer.
func (all budgets) of(pods []*corev1.Pod, uid string) (of *budget, answer update.Outcome) {
	at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return string(p.UID) == uid })
	if at < 0 {
		return nil, update.Gone
	}
	pod := pods[at]
	if pod.Status.Phase == corev1.PodPending {
		return nil, update.Done // no budget counts it
	}
	for i := range all {
		switch {
		case !all[i].selector.Matches(labels.Set(pod.Labels)):
		case of != nil:
			return nil, update.Failed // the API server evicts no pod that several budgets select
		default:
			of = &all[i]
		}
	}
	switch {
	case of == nil, of.sickGo && !isReady(pod):
		return nil, update.Done
	case of.left <= 0:
		return of, update.Disallowed
	}
	return of, update.Done
}

// use takes an eviction from the budget, which may be nil.
func (b *budget) use() {
	if b != nil {
		b.left--
	}
}

// isForGood reports whether it allows no eviction as long as the number of pods stays.
func (b *budget) isForGood() bool { return b.all > 0 && b.wanted >= b.all }

// String says that it allows no eviction, and whether it ever will while the number of pods stays.
func (b *budget) String() string {
	if b.isForGood() {
		return fmt.Sprintf("PodDisruptionBudget %s never allows an eviction, because it wants %d of %d pods healthy", b.name,
			b.wanted, b.all)
	}
	return fmt.Sprintf("PodDisruptionBudget %s does not allow an eviction", b.name)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
