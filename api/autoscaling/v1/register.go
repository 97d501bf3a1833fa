package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the objects in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "autoscaling.k8s.io", Version: "v1"}

// The plural names, under which the API server serves the objects.
const (
	VerticalPodAutoscalers           = "verticalpodautoscalers"
	VerticalPodAutoscalerCheckpoints = "verticalpodautoscalercheckpoints"
)

// Resource returns the plural name with its group.
func Resource(plural string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(plural).GroupResource()
}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&VerticalPodAutoscaler{}, &VerticalPodAutoscalerList{},
		&VerticalPodAutoscalerCheckpoint{}, &VerticalPodAutoscalerCheckpointList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
