package ownership

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Target is a workload that a reference names.
type Target struct {
	Owner
	// Selector selects its pods.
	Selector labels.Selector
	// Parent is its owner, if that is of a kind that a VerticalPodAutoscaler could name instead.
	Parent    Owner
	HasParent bool
}

// TargetOf returns the workload that a reference names. It makes no call: before Run has requested its scale, it
// returns ErrUnknown. The errors' texts are upstream's, for conditions.
func (t *Tree) TargetOf(namespace string, ref *autoscalingv1.CrossVersionObjectReference) (Target, error) {
	o := Owner{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
	if informer, isKnown := t.informer(o); isKnown {
		object, err := t.object(o, informer)
		if err != nil {
			return Target{}, err
		}
		selector, err := selectorOf(object)
		if err != nil {
			return Target{}, as(ErrUnsupported, err)
		}
		o.UID = object.GetUID()
		return t.withParent(Target{Owner: o, Selector: selector}, object.GetOwnerReferences())
	}
	k, err := keyOf(o)
	if err != nil {
		return Target{}, unhandled(ref, err)
	}
	a := t.known(k)
	if a.err != nil {
		return Target{}, unhandled(ref, a.err)
	}
	if a.scale.Status.Selector == "" {
		return Target{},
			unhandled(ref,
				as(ErrUnsupported, fmt.Errorf("resource %s/%s has an empty selector for scale sub-resource", namespace, ref.Name)))
	}
	selector, err := labels.Parse(a.scale.Status.Selector)
	if err != nil {
		return Target{}, unhandled(ref, as(ErrUnsupported, err))
	}
	o.UID = a.scale.UID
	return t.withParent(Target{Owner: o, Selector: selector}, a.scale.OwnerReferences)
}

func unhandled(ref *autoscalingv1.CrossVersionObjectReference, err error) error {
	return fmt.Errorf("unhandled targetRef %s / %s / %s, last error %w", ref.APIVersion, ref.Kind, ref.Name, err)
}

// withParent adds the owner of the target, if that exists and its kind has pods.
func (t *Tree) withParent(target Target, references []metav1.OwnerReference) (Target, error) {
	parent, found, err := t.climb(target.Owner, references)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnsupported) {
		return Target{}, err
	}
	target.Parent, target.HasParent = parent, found && err == nil
	return target, nil
}

// selectorOf returns the selector of kinds that have one.
func selectorOf(object metav1.Object) (labels.Selector, error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *appsv1.StatefulSet:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *appsv1.ReplicaSet:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *appsv1.DaemonSet:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *batchv1.Job:
		return metav1.LabelSelectorAsSelector(o.Spec.Selector)
	case *batchv1.CronJob:
		return setSelector(o.Spec.JobTemplate.Spec.Template.Labels), nil
	case *corev1.ReplicationController:
		return setSelector(o.Spec.Selector), nil
	}
	return nil, fmt.Errorf("no selector known for %T", object)
}

// setSelector selects nothing if there are no labels: selecting the whole namespace cannot be intended.
func setSelector(set map[string]string) labels.Selector {
	if len(set) == 0 {
		return labels.Nothing()
	}
	return labels.SelectorFromSet(set)
}
