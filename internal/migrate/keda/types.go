// Package keda makes WorkloadAutoscalers of KEDA's ScaledObjects.
package keda

// The names of ScaledObjects in the API.
const (
	APIVersion = "keda.sh/v1alpha1"
	Kind       = "ScaledObject"
	Resource   = "scaledobjects"
	// JobKind is that of the objects by which KEDA makes Jobs, for which Plimsoll has nothing.
	JobKind = "ScaledJob"
)

// KEDA's defaults.
const (
	defaultMinReplicas = 0
	defaultMaxReplicas = 100
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

// spec is what a ScaledObject says, as far as it matters here.
type spec struct {
	ScaleTargetRef struct {
		APIVersion             string `json:"apiVersion,omitempty"`
		Kind                   string `json:"kind,omitempty"`
		Name                   string `json:"name"`
		EnvSourceContainerName string `json:"envSourceContainerName,omitempty"`
	} `json:"scaleTargetRef"`
	PollingInterval       *int32    `json:"pollingInterval,omitempty"`
	CooldownPeriod        *int32    `json:"cooldownPeriod,omitempty"`
	InitialCooldownPeriod *int32    `json:"initialCooldownPeriod,omitempty"`
	IdleReplicaCount      *int32    `json:"idleReplicaCount,omitempty"`
	MinReplicaCount       *int32    `json:"minReplicaCount,omitempty"`
	MaxReplicaCount       *int32    `json:"maxReplicaCount,omitempty"`
	Advanced              *advanced `json:"advanced,omitempty"`
	Fallback              *fallback `json:"fallback,omitempty"`
	Triggers              []trigger `json:"triggers"`
}

type advanced struct {
	RestoreToOriginalReplicaCount bool           `json:"restoreToOriginalReplicaCount,omitempty"`
	ScalingModifiers              map[string]any `json:"scalingModifiers,omitempty"`
	HorizontalPodAutoscalerConfig *struct {
		Name     string         `json:"name,omitempty"`
		Behavior map[string]any `json:"behavior,omitempty"`
	} `json:"horizontalPodAutoscalerConfig,omitempty"`
}

type fallback struct {
	FailureThreshold int32  `json:"failureThreshold"`
	Replicas         int32  `json:"replicas"`
	Behavior         string `json:"behavior,omitempty"`
}

type trigger struct {
	Type              string            `json:"type"`
	Name              string            `json:"name,omitempty"`
	Metadata          map[string]string `json:"metadata"`
	AuthenticationRef map[string]any    `json:"authenticationRef,omitempty"`
	MetricType        string            `json:"metricType,omitempty"`
	UseCachedMetrics  bool              `json:"useCachedMetrics,omitempty"`
}

// status is what KEDA says about a ScaledObject, as far as it matters here.
type status struct {
	HPAName             string   `json:"hpaName,omitempty"`
	ExternalMetricNames []string `json:"externalMetricNames,omitempty"`
}
