package explainer

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
)

// ScaleTarget returns the workload that an autoscaler scales, with its kind and version: a Deployment, StatefulSet or
// ReplicaSet.
func (r *ClusterReader) ScaleTarget(
	ctx context.Context, namespace string, ref autoscalingv2.CrossVersionObjectReference,
) (runtime.Object, error) {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || group.Group != appsv1.GroupName {
		return nil, fmt.Errorf("%s %s is of group %q, which has no pod template that is known", ref.Kind, ref.Name,
			group.Group)
	}
	apps, options := r.reader.Client.AppsV1(), metav1.GetOptions{}
	var target runtime.Object
	var resource string
	switch ref.Kind {
	case "Deployment":
		resource = "deployments.apps"
		target, err = apps.Deployments(namespace).Get(ctx, ref.Name, options)
	case "StatefulSet":
		resource = "statefulsets.apps"
		target, err = apps.StatefulSets(namespace).Get(ctx, ref.Name, options)
	case "ReplicaSet":
		resource = "replicasets.apps"
		target, err = apps.ReplicaSets(namespace).Get(ctx, ref.Name, options)
	default:
		return nil, fmt.Errorf("%s %s has no pod template that is known", ref.Kind, ref.Name)
	}
	if err != nil {
		return nil, apierror.Request{Verb: "get", Resource: resource, Namespace: namespace, Name: ref.Name}.Sentence(err)
	}
	target.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(ref.Kind))
	return target, nil
}
