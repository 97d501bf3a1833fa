// Package keda makes WorkloadAutoscalers of KEDA's ScaledObjects.
package keda

import "github.com/plimsoll-dev/plimsoll/internal/scaledobject"

// The names of ScaledObjects in the API.
const (
	APIVersion = scaledobject.APIVersion
	Kind       = scaledobject.Kind
	Resource   = "scaledobjects"
	// JobKind is that of the objects by which KEDA makes Jobs, for which Plimsoll has nothing.
	JobKind = "ScaledJob"
)

// The annotations of a ScaledObject that change what it does.
const (
	AnnotationPaused         = "autoscaling.keda.sh/paused"
	AnnotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"
	annotationPausedScaleIn  = "autoscaling.keda.sh/paused-scale-in"
	annotationPausedScaleOut = "autoscaling.keda.sh/paused-scale-out"
	annotationTransferHPA    = "scaledobject.keda.sh/transfer-hpa-ownership"
	annotationHPAOwnership   = "validations.keda.sh/hpa-ownership"
	// annotationForceActivation keeps the target out of zero, as if a trigger were always active.
	annotationForceActivation = "autoscaling.keda.sh/force-activation"
	annotationExcludedLabels  = "scaledobject.keda.sh/hpa-excluded-labels"
)

// kedaDomain ends the prefixes of KEDA's annotations.
const kedaDomain = "keda.sh"

// knownAnnotations are those whose effect is taken over, or that only concern KEDA's own HPA.
var knownAnnotations = []string{
	AnnotationPaused, AnnotationPausedReplicas, annotationPausedScaleIn, annotationPausedScaleOut, annotationTransferHPA,
	annotationHPAOwnership, annotationForceActivation, annotationExcludedLabels,
}

// The triggers that become no external metric.
const (
	cpuTrigger    = "cpu"
	memoryTrigger = "memory"
	cronTrigger   = "cron"
)

// nameLabel selects the external metrics of one ScaledObject.
const nameLabel = "scaledobject.keda.sh/name"

// status is what KEDA says about a ScaledObject, as far as it matters here.
type status struct {
	HPAName             string   `json:"hpaName,omitempty"`
	ExternalMetricNames []string `json:"externalMetricNames,omitempty"`
}
