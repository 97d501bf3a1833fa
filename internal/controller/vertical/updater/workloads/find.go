package workloads

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Find returns the objects that change running pods, with their pods. Its cost grows with the objects, the pods'
// creators and the objects' pods.
func (f *Finder) Find(ctx context.Context) []*Workload {
	targets := f.Targets(ctx)
	if len(targets) == 0 {
		return nil
	}
	for _, creator := range f.byCreator.Values() {
		pods, terminating := f.podsOf(creator)
		if len(pods) == 0 {
			continue
		}
		// The Tree requests an unknown owner for a later pass: Find makes no request.
		owner, found, err := f.cfg.Owners.TopmostKnown(pods[0])
		if err != nil || !found {
			continue
		}
		candidates := targets[targetKey(owner.Namespace, owner.APIVersion, owner.Kind, owner.Name)]
		assign(candidates, creator, pods)
		for _, pod := range terminating {
			if w := controlling(candidates, pod); w != nil {
				w.Terminating = append(w.Terminating, pod.DeletionTimestamp.Time)
			}
		}
	}
	var all []*Workload
	for _, candidates := range targets {
		all = append(all, candidates...)
	}
	for _, w := range all {
		slices.SortFunc(w.Pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

func targetKey(namespace, version, kind, name string) string {
	return strings.Join([]string{namespace, observe.GroupKey(version), kind, name}, "/")
}

// podsOf returns the pods of a creator: those that have not ended and are not being deleted, and those that are being
// deleted.
func (f *Finder) podsOf(creator string) (pods, terminating []*corev1.Pod) {
	found := f.byCreator.Pods(creator)
	pods = make([]*corev1.Pod, 0, found.Len())
	for pod := range found.All() {
		switch {
		case hasEnded(pod):
		case pod.DeletionTimestamp != nil:
			terminating = append(terminating, pod)
		default:
			pods = append(pods, pod)
		}
	}
	return pods, terminating
}

// Targets returns the objects that change running pods, by their targets. For several objects with one target it is the
// one that admission uses, or none if that changes no running pods; upstream uses the oldest of those that do.
func (f *Finder) Targets(ctx context.Context) map[string][]*Workload {
	var all []*Workload
	strongest := f.strongest()
	for _, object := range f.cfg.Autoscalers.GetStore().List() {
		vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
		if !ok || !f.IsOurs(vpa) || vpa.Spec.TargetRef == nil || strongest != nil && strongest[keyOf(vpa)] != vpa {
			continue
		}
		policy := observevertical.UpdatePolicyOf(&vpa.Spec, f.cfg.Defaults, f.cfg.Gates)
		if policy.Mode.Disrupts() || policy.HasBoost {
			all = append(all, &Workload{VPA: vpa, Policy: policy})
		}
	}
	f.cfg.Owners.Await(ctx, references(all))
	targets := map[string][]*Workload{}
	for _, w := range all {
		var err error
		if w.Target, err = f.cfg.Owners.TargetOf(w.VPA.Namespace, w.VPA.Spec.TargetRef); err != nil {
			f.cfg.Log.V(1).Info("VerticalPodAutoscaler skipped: its target cannot be found", "vpa", w.Key(), "err", err.Error())
			continue
		}
		key := keyOf(w.VPA)
		targets[key] = append(targets[key], w)
	}
	for _, candidates := range targets {
		slices.SortFunc(candidates, func(a, b *Workload) int { return observevertical.Older(a.VPA, b.VPA) })
	}
	return targets
}

func references(all []*Workload) iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference] {
	return func(yield func(string, *autoscalingv1.CrossVersionObjectReference) bool) {
		for _, w := range all {
			if !yield(w.VPA.Namespace, w.VPA.Spec.TargetRef) {
				return
			}
		}
	}
}

// strongest returns the objects that admission uses, by their targets; nil for upstream's choice.
func (f *Finder) strongest() map[string]*vpav1.VerticalPodAutoscaler {
	if !f.cfg.Defaults.Divergences.Has(divergence.OneObject) {
		return nil
	}
	strongest := map[string]*vpav1.VerticalPodAutoscaler{}
	for _, object := range f.cfg.Autoscalers.GetStore().List() {
		if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok && vpa.Spec.TargetRef != nil {
			key := keyOf(vpa)
			strongest[key] = observevertical.ControllingVPA(strongest[key], vpa)
		}
	}
	return strongest
}

func keyOf(vpa *vpav1.VerticalPodAutoscaler) string {
	to := vpa.Spec.TargetRef
	return targetKey(vpa.Namespace, to.APIVersion, to.Kind, to.Name)
}

// IsOurs reports whether the updater changes the object's pods. It does not where admission does not change new ones.
func (f *Finder) IsOurs(vpa *vpav1.VerticalPodAutoscaler) bool {
	if f.cfg.Defaults.Divergences.Has(divergence.OneObject) && !f.cfg.Covers(vpa.Namespace) {
		return false
	}
	return (f.cfg.Namespace == "" || vpa.Namespace == f.cfg.Namespace) && !slices.Contains(f.cfg.Ignored, vpa.Namespace)
}
