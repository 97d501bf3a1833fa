package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the objects in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "plimsoll.dev", Version: "v1alpha1"}

// WorkloadAutoscalers is the plural name, under which the API server serves the objects.
const WorkloadAutoscalers = "workloadautoscalers"

// Kind is the kind of the objects.
const Kind = "WorkloadAutoscaler"

// MigratingAnnotation is on a WorkloadAutoscaler while plimsoll migrate replaces an autoscaler by it, or it by one. Its
// value is the direction.
const MigratingAnnotation = "plimsoll.dev/migrating"

// Resource returns the plural name with its group.
func Resource(plural string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(plural).GroupResource()
}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &WorkloadAutoscaler{}, &WorkloadAutoscalerList{},
		&AutoscalerCheckpoint{}, &AutoscalerCheckpointList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
