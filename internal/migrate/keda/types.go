// Package keda converts KEDA's ScaledObjects to WorkloadAutoscalers.
package keda

import "github.com/plimsoll-dev/plimsoll/internal/scaledobject"

// The names of ScaledObjects in the API.
const (
	APIVersion = scaledobject.APIVersion
	Kind       = scaledobject.Kind
	Resource   = "scaledobjects"
	// JobKind is the kind of the objects from which KEDA creates Jobs. Plimsoll has no equivalent.
	JobKind = "ScaledJob"
)

// The annotations that change the behavior of a ScaledObject.
const (
	AnnotationPaused         = "autoscaling.keda.sh/paused"
	AnnotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"
	annotationPausedScaleIn  = "autoscaling.keda.sh/paused-scale-in"
	annotationPausedScaleOut = "autoscaling.keda.sh/paused-scale-out"
	annotationTransferHPA    = "scaledobject.keda.sh/transfer-hpa-ownership"
	annotationHPAOwnership   = "validations.keda.sh/hpa-ownership"
	// annotationForceActivation keeps the target above zero, as if a trigger were always active.
	annotationForceActivation = "autoscaling.keda.sh/force-activation"
	annotationExcludedLabels  = "scaledobject.keda.sh/hpa-excluded-labels"
)

// kedaDomain ends the prefixes of KEDA's annotations.
const kedaDomain = "keda.sh"

// knownAnnotations has those whose effect is converted, or that only concern KEDA's own HPA.
var knownAnnotations = []string{
	AnnotationPaused, AnnotationPausedReplicas, annotationPausedScaleIn, annotationPausedScaleOut, annotationTransferHPA,
	annotationHPAOwnership, annotationForceActivation, annotationExcludedLabels,
}

// nameLabel selects the external metrics of one ScaledObject.
const nameLabel = "scaledobject.keda.sh/name"

// status has the fields of a ScaledObject's status that the conversion uses.
type status struct {
	HPAName             string   `json:"hpaName,omitempty"`
	ExternalMetricNames []string `json:"externalMetricNames,omitempty"`
}
