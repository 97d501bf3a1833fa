package explainer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Target is the target of autoscalers: a workload, or a pod of one.
type Target struct {
	// Kind is in lower case, as deployment.
	Kind, Name string
}

// Pod is the kind of a pod.
const Pod = "pod"

// Found has the autoscalers of a target.
type Found struct {
	Autoscalers []observe.Key
	// LeftOut describes which kinds could not be listed, and why.
	LeftOut []string
}

// Find finds the autoscalers of a workload, or of the one that a pod belongs to: horizontal ones before vertical ones.
func (r *ClusterReader) Find(ctx context.Context, namespace string, target Target) (Found, error) {
	owners := []Target{target}
	if target.Kind == Pod {
		var err error
		if owners, err = r.ownersOf(ctx, namespace, target.Name); err != nil {
			return Found{}, err
		}
	}
	var found Found
	for _, kind := range []struct {
		resource string
		list     func(context.Context, string, visit) error
	}{
		{"horizontalpodautoscalers.autoscaling", r.eachHPA},
		{"workloadautoscalers.plimsoll.dev", r.eachWorkloadAutoscaler},
		{"verticalpodautoscalers.autoscaling.k8s.io", r.eachVPA},
	} {
		err := kind.list(ctx, namespace, func(of observe.Kind, name, refKind, refName string) {
			if slices.Contains(owners, Target{strings.ToLower(refKind), refName}) {
				key := observe.Key{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, Kind: of}
				found.Autoscalers = append(found.Autoscalers, key)
			}
		})
		switch {
		case apierrors.IsNotFound(err): // Their definition is not installed.
		case apierrors.IsForbidden(err):
			found.LeftOut = append(found.LeftOut, fmt.Sprintf("you may not list %s in namespace %s", kind.resource, namespace))
		case err != nil:
			return found, apierror.Request{Verb: "list", Resource: kind.resource, Namespace: namespace}.Sentence(err)
		}
	}
	if len(found.Autoscalers) > 0 {
		return found, nil
	}
	if err := r.missing(ctx, namespace, target); err != nil {
		return found, err
	}
	return found, &cmderror.Error{
		What: fmt.Sprintf("no autoscaler in namespace %s has %s/%s as its target", namespace, target.Kind, target.Name),
		Why:  strings.Join(found.LeftOut, "; "), Next: "see kubectl get hpa,wla,vpa -n " + namespace,
	}
}

// missing returns an error if the target does not exist; nil if it does, or if that cannot be read.
func (r *ClusterReader) missing(ctx context.Context, namespace string, target Target) error {
	var err error
	apps, options := r.reader.Client.AppsV1(), metav1.GetOptions{}
	switch target.Kind {
	case "deployment":
		_, err = apps.Deployments(namespace).Get(ctx, target.Name, options)
	case "statefulset":
		_, err = apps.StatefulSets(namespace).Get(ctx, target.Name, options)
	case "replicaset":
		_, err = apps.ReplicaSets(namespace).Get(ctx, target.Name, options)
	}
	if !apierrors.IsNotFound(err) {
		return nil
	}
	resource := target.Kind + "s.apps"
	return apierror.Request{Verb: "get", Resource: resource, Namespace: namespace, Name: target.Name}.Sentence(err)
}

// visit gets an autoscaler with its target.
type visit func(kind observe.Kind, name, refKind, refName string)

// eachHPA and the others call f for each autoscaler of their kind.
func (r *ClusterReader) eachHPA(ctx context.Context, namespace string, f visit) error {
	list, err := r.reader.Client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		ref := &list.Items[i].Spec.ScaleTargetRef
		f(observe.HorizontalPodAutoscaler, list.Items[i].Name, ref.Kind, ref.Name)
	}
	return nil
}

func (r *ClusterReader) eachWorkloadAutoscaler(ctx context.Context, namespace string, f visit) error {
	list, err := r.reader.WLAs.WorkloadAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		ref := &list.Items[i].Spec.ScaleTargetRef
		f(observe.WorkloadAutoscaler, list.Items[i].Name, ref.Kind, ref.Name)
	}
	return nil
}

func (r *ClusterReader) eachVPA(ctx context.Context, namespace string, f visit) error {
	list, err := r.vpas.List(ctx, namespace)
	if err != nil {
		return err
	}
	for i := range list.Items {
		if ref := list.Items[i].Spec.TargetRef; ref != nil {
			f(observe.VerticalPodAutoscaler, list.Items[i].Name, ref.Kind, ref.Name)
		}
	}
	return nil
}

// ownersOf returns the workload that controls a pod and, if that is the ReplicaSet of a Deployment, the Deployment.
func (r *ClusterReader) ownersOf(ctx context.Context, namespace, name string) ([]Target, error) {
	request := apierror.Request{Verb: "list", Resource: "pods", Namespace: namespace}
	pods, err := r.reader.Client.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		return nil, request.Sentence(err)
	}
	var pod *corev1.Pod
	for i := range pods.Items {
		if pods.Items[i].Name == name {
			pod = &pods.Items[i]
		}
	}
	if pod == nil {
		return nil, &cmderror.Error{What: fmt.Sprintf("pods %q not found in namespace %s", name, namespace),
			Next: "see kubectl get pods -n " + namespace}
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil, &cmderror.Error{What: fmt.Sprintf("pod %s has no controller that could be scaled", name),
			Next: "see kubectl get pod " + name + " -n " + namespace + " -o yaml"}
	}
	owners := []Target{{strings.ToLower(owner.Kind), owner.Name}}
	// The name of a Deployment's ReplicaSet is the Deployment's with this label appended.
	if hash := pod.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		owners = append(owners, Target{"deployment", strings.TrimSuffix(owner.Name, "-"+hash)})
	}
	return owners, nil
}

// Successor returns the WorkloadAutoscaler that has replaced a missing HPA, or the HPA that has replaced a missing
// WorkloadAutoscaler: plimsoll migrate gives it the same name, there and back.
func (r *ClusterReader) Successor(ctx context.Context, missing observe.Key) (successor observe.Key, found bool) {
	var err error
	name := missing.NamespacedName
	switch missing.Kind {
	case observe.HorizontalPodAutoscaler:
		successor = observe.Key{NamespacedName: name, Kind: observe.WorkloadAutoscaler}
		_, err = r.reader.Workload(ctx, name)
	case observe.WorkloadAutoscaler:
		successor = observe.Key{NamespacedName: name, Kind: observe.HorizontalPodAutoscaler}
		_, err = r.reader.Client.AutoscalingV2().HorizontalPodAutoscalers(name.Namespace).Get(ctx, name.Name,
			metav1.GetOptions{})
	default:
		return successor, false
	}
	return successor, err == nil
}
