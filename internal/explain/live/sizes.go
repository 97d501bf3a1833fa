package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/explain/sizes"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observe "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Sizes is what explains a VerticalPodAutoscaler. LimitRanges, nodes and horizontal
// autoscalers that the caller may not list are left out, as they only add to it.
func (r *Reader) Sizes(ctx context.Context, verticals *vpa.Client, object types.NamespacedName, now time.Time) (*sizes.Known, error) {
	found, err := verticals.Get(ctx, object.Namespace, object.Name)
	if err != nil {
		return nil, lacking(err, "get", "verticalpodautoscalers.autoscaling.k8s.io", object.Namespace)
	}
	k := &sizes.Known{Object: found, Now: now}
	err = verticals.EachCheckpoint(ctx, object.Namespace, func(c *autoscaling.VerticalPodAutoscalerCheckpoint) {
		k.Checkpoints = append(k.Checkpoints, c)
	})
	if err != nil {
		return nil, lacking(err, "list", "verticalpodautoscalercheckpoints.autoscaling.k8s.io", object.Namespace)
	}
	if err := r.workload(ctx, k); err != nil {
		return nil, err
	}
	r.surroundings(ctx, k)
	return k, nil
}

// workload reads the pods of the object's target.
func (r *Reader) workload(ctx context.Context, k *sizes.Known) error {
	namespace, ref := k.Object.Namespace, k.Object.Spec.TargetRef
	if ref == nil {
		k.Problem = "spec.targetRef: the object names no workload"
		return nil
	}
	selector, replicas, err := r.selector(ctx, namespace, ref)
	switch {
	case apierrors.IsForbidden(err):
		return lacking(err, "get", "scale of "+ref.Kind+" "+ref.Name, namespace)
	case err != nil:
		k.Problem = fmt.Sprintf("spec.targetRef: %v", err)
		return nil
	}
	k.Replicas = replicas
	pods, err := r.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return lacking(err, "list", "pods", namespace)
	}
	for i := range pods.Items {
		k.Pods = append(k.Pods, &pods.Items[i])
	}
	return nil
}

// selector is that of the workload's pods, and how many there ought to be. DaemonSets
// and Jobs have no scale.
func (r *Reader) selector(ctx context.Context, namespace string, ref *autoscalingv1.CrossVersionObjectReference) (selector string, replicas int, err error) {
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
	target, err := r.Scales.Get(ctx, namespace, autoscalingv2.CrossVersionObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name})
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

// surroundings are what takes part in a decision on the pods.
func (r *Reader) surroundings(ctx context.Context, k *sizes.Known) {
	namespace := k.Object.Namespace
	if mode := observe.ModeOf(&k.Object.Spec); mode == vertical.ModeInPlace || mode == vertical.ModeInPlaceOrRecreate {
		// Without an answer the resize itself will tell.
		list, err := r.Client.Discovery().ServerResourcesForGroupVersion(corev1.SchemeGroupVersion.String())
		k.NoResize = err == nil && !slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool { return one.Name == "pods/resize" })
	}
	if list, err := r.Client.CoreV1().LimitRanges(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		k.Ranges = pointers(list.Items)
	}
	if list, err := r.Client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		k.Horizontals = pointers(list.Items)
	}
	nodes := map[string]bool{}
	for _, pod := range k.Pods {
		nodes[pod.Spec.NodeName] = true
	}
	for name := range nodes {
		if node, err := r.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); name != "" && err == nil {
			k.Nodes = append(k.Nodes, node)
		}
	}
}

func pointers[T corev1.LimitRange | autoscalingv2.HorizontalPodAutoscaler](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
