package slim

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Horizontal is the transform of informers that only the horizontal loop reads. It
// makes pods what observe keeps of them and the apps/v1 targets their scales, so
// that the types in these caches are others than those asked for; of
// HorizontalPodAutoscalers it leaves out which fields are whose. Other types are
// as Transform makes them.
func Horizontal(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return observe.PodOf(quantity.Pod(o)), nil
	case *appsv1.Deployment, *appsv1.StatefulSet:
		return target(object)
	case *appsv1.ReplicaSet:
		if owner := metav1.GetControllerOf(o); owner != nil {
			// One stays behind for each of its owner's revisions, and nobody scales it.
			return &owned{namespace: o.Namespace, name: o.Name, version: o.ResourceVersion}, nil
		}
		return target(object)
	case *autoscalingv2.HorizontalPodAutoscaler:
		return autoscaler(o), nil
	}
	return Transform(object)
}

// target is the object's scale. Where there is none it is the API server's to tell.
func target(object any) (any, error) {
	if scale, err := targets.ScaleOf(object); err == nil {
		return scale, nil
	}
	return Transform(object)
}

// owned is an object that its owner scales.
type owned struct{ namespace, name, version string }

var _ metav1.ObjectMetaAccessor = (*owned)(nil)

// GetObjectMeta implements metav1.ObjectMetaAccessor, for the informer.
func (o *owned) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.namespace, Name: o.name, ResourceVersion: o.version}
}

// autoscaler leaves out which fields are whose: who wrote status, and when, is what
// is asked. API servers take the rest from live objects where status is written.
func autoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	slim := *quantity.Horizontal(hpa)
	slim.ManagedFields = slices.Clone(hpa.ManagedFields)
	for i := range slim.ManagedFields {
		slim.ManagedFields[i].FieldsV1 = nil
	}
	return &slim
}
