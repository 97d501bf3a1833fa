package updater

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	observe "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// workload is a VerticalPodAutoscaler with the pods that it controls.
type workload struct {
	vpa    *autoscaling.VerticalPodAutoscaler
	policy update.Policy
	target ownership.Target
	pods   []*corev1.Pod
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
		pods := c.podsOf(creator)
		if len(pods) == 0 {
			continue
		}
		// An owner that has to be asked for is known in a later pass: nothing is asked here.
		owner, found, err := c.cfg.Owners.TopmostKnown(pods[0])
		if err != nil || !found {
			continue
		}
		assign(targets[targetKey(owner.Namespace, owner.Kind, owner.Name)], creator, pods)
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

// podsOf are the pods that live: neither ended nor being deleted.
func (c *Controller) podsOf(creator string) []*corev1.Pod {
	// The index is there, and its function returns no error.
	objects, _ := c.pods.ByIndex(byCreator, creator)
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		if pod, ok := slim.Pod(object); ok && lives(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func lives(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
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

// targets are the objects that change running pods, by what they refer to; of
// several the oldest goes first, as upstream.
func (c *Controller) targets(ctx context.Context) map[string][]*workload {
	var all []*workload
	for _, object := range c.cfg.Autoscalers.GetStore().List() {
		vpa, ok := object.(*autoscaling.VerticalPodAutoscaler)
		if !ok || !c.isOurs(vpa) || vpa.Spec.TargetRef == nil {
			continue
		}
		policy := observe.UpdatePolicyOf(&vpa.Spec, &c.cfg.Flags, c.cfg.Gates)
		if policy.Mode.Disrupts() || policy.Boosts {
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
		key := targetKey(w.vpa.Namespace, w.vpa.Spec.TargetRef.Kind, w.vpa.Spec.TargetRef.Name)
		targets[key] = append(targets[key], w)
	}
	for _, candidates := range targets {
		slices.SortFunc(candidates, func(a, b *workload) int { return older(&a.vpa.ObjectMeta, &b.vpa.ObjectMeta) })
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

func older(a, b *metav1.ObjectMeta) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

func (c *Controller) isOurs(vpa *autoscaling.VerticalPodAutoscaler) bool {
	return (c.cfg.Namespace == "" || vpa.Namespace == c.cfg.Namespace) && !slices.Contains(c.cfg.Ignored, vpa.Namespace)
}
