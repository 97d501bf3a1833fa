package explainer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// ReadVertical returns the inputs of an explanation of a VerticalPodAutoscaler. It omits LimitRanges, nodes and
// horizontal autoscalers that the caller may not list, because they only add details.
func (r *inputReader) ReadVertical(
	ctx context.Context, verticals *vpa.Client, object types.NamespacedName, now time.Time,
) (*snapshotvertical.Step, error) {
	found, err := verticals.Get(ctx, object.Namespace, object.Name)
	if err != nil {
		return nil, apierror.Request{
			Verb: "get", Resource: "verticalpodautoscalers.autoscaling.k8s.io", Namespace: object.Namespace, Name: object.Name,
		}.Sentence(err)
	}
	k := &snapshotvertical.Step{
		Object: found,
		Snapshot: &snapshotvertical.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name}, Time: now,
		},
	}
	err = verticals.EachCheckpoint(ctx, object.Namespace, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		if c.Spec.VPAObjectName == found.Name {
			k.Checkpoints = append(k.Checkpoints, c)
		}
	})
	if err != nil {
		return nil, apierror.Request{Verb: "list", Resource: "verticalpodautoscalercheckpoints.autoscaling.k8s.io",
			Namespace: object.Namespace}.Sentence(err)
	}
	if err := r.workload(ctx, k); err != nil {
		return nil, err
	}
	r.surroundings(ctx, k)
	return k, nil
}

// workload reads the pods of the object's target.
func (r *inputReader) workload(ctx context.Context, k *snapshotvertical.Step) error {
	namespace, ref := k.Object.Namespace, k.Object.Spec.TargetRef
	if k.Object.Unreadable != "" {
		k.Snapshot.Target.Problem = "it cannot be decoded and is ignored: " + k.Object.Unreadable
		return nil
	}
	if ref == nil {
		k.Snapshot.Target.Problem = "spec.targetRef: the object names no workload"
		return nil
	}
	selector, replicas, err := r.selector(ctx, namespace, ref)
	switch {
	case apierrors.IsForbidden(err):
		return apierror.Request{
			Verb: "get", Resource: "scale of " + ref.Kind + " " + ref.Name, Namespace: namespace,
		}.Sentence(err)
	case err != nil:
		k.Snapshot.Target.Problem = fmt.Sprintf("spec.targetRef: %v", err)
		return nil
	}
	k.Snapshot.Target.Replicas = replicas
	pods, err := r.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return apierror.Request{Verb: "list", Resource: "pods", Namespace: namespace}.Sentence(err)
	}
	for i := range pods.Items {
		k.Pods = append(k.Pods, slimPod(&pods.Items[i]))
	}
	return nil
}

// selector returns that of the workload's pods, and their desired number. DaemonSets and Jobs have no scale.
func (r *inputReader) selector(
	ctx context.Context, namespace string, ref *autoscalingv1.CrossVersionObjectReference,
) (selector string, replicas int, err error) {
	switch ref.Kind {
	case "DaemonSet":
		set, err := r.Client.AppsV1().DaemonSets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", 0, err
		}
		selector, err := text(set.Spec.Selector)
		return selector, int(set.Status.DesiredNumberScheduled), err
	case "Job":
		job, err := r.Client.BatchV1().Jobs(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", 0, err
		}
		selector, err := text(job.Spec.Selector)
		return selector, 0, err
	}
	target, err := r.Scales.Get(ctx, namespace,
		autoscalingv2.CrossVersionObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name})
	if err != nil {
		return "", 0, err
	}
	return target.Scale.Status.Selector, int(target.Scale.Spec.Replicas), nil
}

func text(selector *metav1.LabelSelector) (string, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return labels.Nothing().String(), err
	}
	return s.String(), nil
}

// surroundings reads the other inputs of a decision on the pods.
func (r *inputReader) surroundings(ctx context.Context, k *snapshotvertical.Step) {
	if observevertical.ModeOf(&k.Object.Spec).ResizesInPlace() {
		// Without a response, the resize itself will show it.
		list, err := r.Client.Discovery().ServerResourcesForGroupVersion(corev1.SchemeGroupVersion.String())
		k.Snapshot.NoResize = err == nil &&
			!slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool { return one.Name == "pods/resize" })
		r.used(ctx, k)
	}
	r.rules(ctx, k)
	nodes := map[string]bool{}
	for _, pod := range k.Pods {
		nodes[pod.Spec.NodeName] = true
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if name == "" {
			continue
		}
		if node, err := r.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err == nil {
			k.Nodes = append(k.Nodes, slimNode(node))
		}
	}
}

// used reads the present use of the pods' containers.
func (r *inputReader) used(ctx context.Context, k *snapshotvertical.Step) {
	ours := map[string]bool{}
	for _, pod := range k.Pods {
		ours[pod.Name] = true
	}
	list, err := r.Metrics.Resource(ctx, k.Object.Namespace, "")
	if err != nil {
		return
	}
	for i := range list.Items {
		if ours[list.Items[i].Name] {
			k.PodMetrics = append(k.PodMetrics, list.Items[i])
		}
	}
}

// rules reads the namespace's objects that limit changes of a pod.
func (r *inputReader) rules(ctx context.Context, k *snapshotvertical.Step) {
	namespace, all := k.Object.Namespace, metav1.ListOptions{}
	if list, err := r.Client.CoreV1().LimitRanges(namespace).List(ctx, all); err == nil {
		k.Ranges = pointersTo(list.Items)
	}
	if list, err := r.Client.CoreV1().ResourceQuotas(namespace).List(ctx, all); err == nil {
		k.Quotas = pointersTo(list.Items)
	}
	if list, err := r.Client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, all); err == nil {
		k.Budgets = pointersTo(list.Items)
	}
	if list, err := r.Client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, all); err == nil {
		k.Horizontals = pointersTo(list.Items)
	}
	if list, err := r.WLAs.WorkloadAutoscalers(namespace).List(ctx, all); err == nil {
		k.Workloads = pointersTo(list.Items)
	}
}

// slimPod and slimNode remove fields that no decision uses, because the file may be shown to others.
func slimPod(pod *corev1.Pod) *corev1.Pod {
	return slim.Pod(quantity.Pod(pod))
}

func slimNode(node *corev1.Node) *corev1.Node {
	slimmed := slim.Node(node)
	slimmed.Status.Addresses = nil
	return slimmed
}

func pointersTo[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
