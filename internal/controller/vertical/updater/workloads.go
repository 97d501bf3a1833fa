package updater

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// workload is a VerticalPodAutoscaler with the pods that it controls.
type workload struct {
	vpa    *vpav1.VerticalPodAutoscaler
	policy update.Policy
	target ownership.Target
	pods   []*corev1.Pod
	// terminating is of those that are being deleted when each should have gone.
	terminating []time.Time
	// creators have made the pods, by their keys in the index.
	creators []string
}

func (w *workload) key() string { return w.vpa.Namespace + "/" + w.vpa.Name }

// workloads are the objects that change running pods, with their pods. It costs
// what the objects, the pods' creators and the pods of the objects are, together.
func (c *Controller) workloads(ctx context.Context) []*workload {
	targets := c.targets(ctx)
	if len(targets) == 0 {
		return nil
	}
	for _, creator := range c.pods.ListIndexFuncValues(byCreator) {
		pods, terminating := c.podsOf(creator)
		if len(pods) == 0 {
			continue
		}
		// An owner that has to be asked for is known in a later pass: nothing is asked here.
		owner, found, err := c.cfg.Owners.TopmostKnown(pods[0])
		if err != nil || !found {
			continue
		}
		candidates := targets[targetKey(owner.Namespace, owner.Kind, owner.Name)]
		assign(candidates, creator, pods)
		for _, pod := range terminating {
			if w := controlling(candidates, pod); w != nil {
				w.terminating = append(w.terminating, pod.DeletionTimestamp.Time)
			}
		}
	}
	var all []*workload
	for _, candidates := range targets {
		all = append(all, candidates...)
	}
	for _, w := range all {
		slices.SortFunc(w.pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

// assign gives each of a creator's pods to the object that controls it.
func assign(candidates []*workload, creator string, pods []*corev1.Pod) {
	for _, pod := range pods {
		w := controlling(candidates, pod)
		if w == nil {
			continue
		}
		w.pods = append(w.pods, pod)
		if !slices.Contains(w.creators, creator) {
			w.creators = append(w.creators, creator)
		}
	}
}

func targetKey(namespace, kind, name string) string { return namespace + "/" + kind + "/" + name }

// podsOf are the pods that live, neither ended nor being deleted, and those that are
// being deleted.
func (c *Controller) podsOf(creator string) (pods, terminating []*corev1.Pod) {
	// The index is there, and its function returns no error.
	objects, _ := c.pods.ByIndex(byCreator, creator)
	pods = make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		pod, ok := slim.Pod(object)
		switch {
		case !ok || hasEnded(pod):
		case pod.DeletionTimestamp != nil:
			terminating = append(terminating, pod)
		default:
			pods = append(pods, pod)
		}
	}
	return pods, terminating
}

func lives(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !hasEnded(pod) }

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// controlling is the first of the candidates whose selector selects the pod.
func controlling(candidates []*workload, pod *corev1.Pod) *workload {
	for _, w := range candidates {
		if w.target.Selector.Matches(labelSet(pod.Labels)) {
			return w
		}
	}
	return nil
}

// targets are the objects that change running pods, by what they refer to. Of
// several for one workload it is the one that admission takes, or none if that
// changes no running pods; upstream takes the oldest of those that do.
func (c *Controller) targets(ctx context.Context) map[string][]*workload {
	var all []*workload
	strongest := c.strongest()
	for _, object := range c.cfg.Autoscalers.GetStore().List() {
		vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
		if !ok || !c.isOurs(vpa) || vpa.Spec.TargetRef == nil || strongest != nil && strongest[keyOf(vpa)] != vpa {
			continue
		}
		policy := observevertical.UpdatePolicyOf(&vpa.Spec, &c.cfg.Flags, c.cfg.Gates)
		if policy.Mode.Disrupts() || policy.HasBoost {
			all = append(all, &workload{vpa: vpa, policy: policy})
		}
	}
	c.cfg.Owners.Await(ctx, references(all))
	targets := map[string][]*workload{}
	for _, w := range all {
		var err error
		if w.target, err = c.cfg.Owners.TargetOf(w.vpa.Namespace, w.vpa.Spec.TargetRef); err != nil {
			c.cfg.Log.V(1).Info("left out: its target cannot be found", "vpa", w.key(), "reason", err.Error())
			continue
		}
		key := keyOf(w.vpa)
		targets[key] = append(targets[key], w)
	}
	for _, candidates := range targets {
		slices.SortFunc(candidates, func(a, b *workload) int { return observevertical.Older(a.vpa, b.vpa) })
	}
	return targets
}

// references are what the objects name, with their namespaces.
func references(all []*workload) iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference] {
	return func(yield func(string, *autoscalingv1.CrossVersionObjectReference) bool) {
		for _, w := range all {
			if !yield(w.vpa.Namespace, w.vpa.Spec.TargetRef) {
				return
			}
		}
	}
}

// strongest are the objects that admission takes, by what they refer to; nil where
// upstream's choice is wanted.
func (c *Controller) strongest() map[string]*vpav1.VerticalPodAutoscaler {
	if !c.cfg.Flags.Divergences.Has(divergence.OneObject) {
		return nil
	}
	strongest := map[string]*vpav1.VerticalPodAutoscaler{}
	for _, object := range c.cfg.Autoscalers.GetStore().List() {
		if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok && vpa.Spec.TargetRef != nil {
			key := keyOf(vpa)
			strongest[key] = observevertical.Stronger(strongest[key], vpa)
		}
	}
	return strongest
}

func keyOf(vpa *vpav1.VerticalPodAutoscaler) string {
	return targetKey(vpa.Namespace, vpa.Spec.TargetRef.Kind, vpa.Spec.TargetRef.Name)
}

// isOurs reports whether the object's pods are changed: not where admission does not
// look at new ones.
func (c *Controller) isOurs(vpa *vpav1.VerticalPodAutoscaler) bool {
	if c.cfg.Flags.Divergences.Has(divergence.OneObject) && !c.admission.Covers(vpa.Namespace) {
		return false
	}
	return (c.cfg.Namespace == "" || vpa.Namespace == c.cfg.Namespace) && !slices.Contains(c.cfg.Ignored, vpa.Namespace)
}
