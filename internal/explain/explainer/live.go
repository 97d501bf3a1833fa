package explainer

import (
	"context"
	"fmt"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// inputReader reads from a cluster.
type inputReader struct {
	Client  kubernetes.Interface
	WLAs    *wla.Client
	Scales  *scale.Client
	Metrics query.Source
	// Options are the assumed flags of the object's controller.
	Options observehorizontal.Options
}

// Object returns the HorizontalPodAutoscaler itself.
func (r *inputReader) Object(
	ctx context.Context, object types.NamespacedName,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	hpa, err := r.Client.AutoscalingV2().HorizontalPodAutoscalers(object.Namespace).Get(ctx, object.Name,
		metav1.GetOptions{})
	if err != nil {
		return nil, apierror.Request{
			Verb: "get", Resource: "horizontalpodautoscalers.autoscaling", Namespace: object.Namespace, Name: object.Name,
		}.Sentence(err)
	}
	return hpa, nil
}

// Workload returns the WorkloadAutoscaler itself.
func (r *inputReader) Workload(ctx context.Context, name types.NamespacedName) (observehorizontal.Autoscaler, error) {
	object, err := r.WLAs.WorkloadAutoscalers(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return observehorizontal.Autoscaler{}, apierror.Request{
			Verb: "get", Resource: "workloadautoscalers.plimsoll.dev", Namespace: name.Namespace, Name: name.Name,
		}.Sentence(err)
	}
	if object.Unreadable != "" {
		return observehorizontal.Autoscaler{}, fmt.Errorf("the spec of WorkloadAutoscaler %s cannot be read: %s", name,
			object.Unreadable)
	}
	return observehorizontal.WorkloadAutoscaler(object), nil
}

// Read returns the present inputs of a decision on the object, without its history. A scale or a metric that cannot be
// read is one of them; a missing permission of the caller is an error that names the permission.
func (r *inputReader) Read(
	ctx context.Context, autoscaler observehorizontal.Autoscaler, now time.Time,
) (*snapshothorizontal.Step, error) {
	namespace, ref := autoscaler.Namespace, autoscaler.Target()
	step := &snapshothorizontal.Step{
		Snapshot: &snapshothorizontal.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: autoscaler.Name},
			Time:       now, Options: snapshothorizontal.OptionsOf(r.Options),
		},
		HPA: autoscaler.HPA, Workload: autoscaler.Workload,
	}
	target, err := r.Scales.Get(ctx, namespace, ref)
	switch {
	case apierrors.IsForbidden(err):
		return nil, apierror.Request{Verb: "get", Resource: "scale of " + ref.Kind + " " + ref.Name,
			Namespace: namespace}.Sentence(err)
	case err != nil:
		step.Snapshot.ScaleError = err.Error()
		return step, nil //nolint:nilerr // what cannot be read is part of what a decision sees
	}
	step.Scale = target.Scale
	policy := step.Policy(r.Options)
	seen, selector := observehorizontal.Target(target.Scale)
	observation := horizontal.Observation{Target: seen, ScaledToZero: autoscaler.ScaledToZero()}
	if seen.Selector.Problem != podselector.Fine || !horizontal.NeedsReadings(&policy, &horizontal.State{}, &observation) {
		return step, nil
	}
	if step.Pods, err = r.pods(ctx, autoscaler, target.Scale, selector); err != nil {
		return nil, err
	}
	return step, r.requestMetrics(ctx, step, &policy)
}

// Pods returns those of the target; none if its scale has no selector.
func (r *inputReader) Pods(ctx context.Context, autoscaler observehorizontal.Autoscaler) ([]*corev1.Pod, error) {
	namespace, ref := autoscaler.Namespace, autoscaler.Target()
	target, err := r.Scales.Get(ctx, namespace, ref)
	switch {
	case apierrors.IsForbidden(err):
		return nil, apierror.Request{Verb: "get", Resource: "scale of " + ref.Kind + " " + ref.Name,
			Namespace: namespace}.Sentence(err)
	case err != nil:
		return nil, fmt.Errorf("reading the scale of %s %s: %w", ref.Kind, ref.Name, err)
	}
	seen, selector := observehorizontal.Target(target.Scale)
	if seen.Selector.Problem != podselector.Fine {
		return nil, nil
	}
	return r.pods(ctx, autoscaler, target.Scale, selector)
}

func (r *inputReader) pods(
	ctx context.Context, autoscaler observehorizontal.Autoscaler, of *autoscalingv1.Scale, selector labels.Selector,
) ([]*corev1.Pod, error) {
	namespace := autoscaler.Namespace
	pods, err := r.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, apierror.Request{Verb: "list", Resource: "pods", Namespace: namespace}.Sentence(err)
	}
	owns := func(*corev1.Pod) bool { return true }
	if autoscaler.SelectsByOwner() {
		if owns, err = r.ownedBy(ctx, namespace, of.UID); err != nil {
			return nil, err
		}
	}
	var own []*corev1.Pod
	for i := range pods.Items {
		if pod := &pods.Items[i]; owns(pod) {
			own = append(own, pod)
		}
	}
	return own, nil
}

// ownedBy reports whether an object controls a pod, or the ReplicaSet that does.
func (r *inputReader) ownedBy(ctx context.Context, namespace string, owner types.UID) (func(*corev1.Pod) bool, error) {
	sets, err := r.Client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, apierror.Request{Verb: "list", Resource: "replicasets.apps", Namespace: namespace}.Sentence(err)
	}
	owners := map[types.UID]bool{owner: true}
	for i := range sets.Items {
		if set := &sets.Items[i]; isControlledBy(set, func(uid types.UID) bool { return uid == owner }) {
			owners[set.UID] = true
		}
	}
	return func(pod *corev1.Pod) bool {
		return isControlledBy(pod, func(uid types.UID) bool { return owners[uid] })
	}, nil
}

func isControlledBy(object metav1.Object, is func(types.UID) bool) bool {
	controller := metav1.GetControllerOfNoCopy(object)
	return controller != nil && is(controller.UID)
}

// requestMetrics requests all metrics concurrently.
func (r *inputReader) requestMetrics(
	ctx context.Context, step *snapshothorizontal.Step, policy *horizontal.Policy,
) error {
	autoscaler := step.Autoscaler()
	questions := query.Questions{
		Source: r.Metrics, Autoscaler: autoscaler, Policy: policy, Selector: step.Scale.Status.Selector,
	}
	answers := make([]observehorizontal.Response, len(policy.Metrics))
	var asking sync.WaitGroup
	asked := time.Now()
	for i := range answers {
		if autoscaler.IsOwn(i) {
			// Only the controller can reach the pods and servers.
			step.Snapshot.Awaited = append(step.Snapshot.Awaited, i)
			continue
		}
		asking.Go(func() { answers[i], _ = questions.Ask(ctx, i) })
	}
	asking.Wait()
	for i := range answers {
		if autoscaler.IsOwn(i) {
			continue
		}
		if err := answers[i].Err; apierrors.IsForbidden(err) {
			return apierror.Request{
				Verb: "list", Resource: "the values of " + policy.Metrics[i].Describe(policy.Divergences),
				Namespace: autoscaler.Namespace,
			}.Sentence(err)
		}
		step.AddAnswer(i, &answers[i])
		step.AddAsked(i, asked)
	}
	return nil
}

// Rescales returns the changes of the replica count that events report. Without the permission to list events there are
// none, and no error: they only make a forecast more certain.
func (r *inputReader) Rescales(ctx context.Context, object observe.Key) []historybounds.Rescale {
	list, err := r.Client.CoreV1().Events(object.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{
			"involvedObject.kind": object.Kind.String(), "involvedObject.name": object.Name, "reason": "SuccessfulRescale",
		}.String(),
	})
	if err != nil {
		return nil
	}
	return historybounds.Rescales(ownEvents(list.Items, object.Name))
}

func ownEvents(events []corev1.Event, name string) []corev1.Event {
	var own []corev1.Event
	for i := range events {
		if events[i].InvolvedObject.Name == name {
			own = append(own, events[i])
		}
	}
	return own
}
