// Package scaledobject has KEDA's ScaledObject, as far as Plimsoll reads it.
package scaledobject

import (
	"cmp"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The name of the kind in the API.
const (
	APIVersion = "keda.sh/v1alpha1"
	Kind       = "ScaledObject"
)

// KEDA's defaults: see github.com/kedacore/keda, apis/keda/v1alpha1/scaledobject_types.go.
const (
	defaultMinReplicas = 0
	defaultMaxReplicas = 100
)

// Object is a ScaledObject.
type Object struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec `json:"spec"`
}

// Spec is the spec of a ScaledObject.
type Spec struct {
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
	Advanced              *Advanced `json:"advanced,omitempty"`
	Fallback              *Fallback `json:"fallback,omitempty"`
	Triggers              []Trigger `json:"triggers"`
}

// Advanced is spec.advanced.
type Advanced struct {
	RestoreToOriginalReplicaCount bool           `json:"restoreToOriginalReplicaCount,omitempty"`
	ScalingModifiers              map[string]any `json:"scalingModifiers,omitempty"`
	HorizontalPodAutoscalerConfig *struct {
		Name string `json:"name,omitempty"`
		// Behavior is an HPA's.
		Behavior map[string]any `json:"behavior,omitempty"`
	} `json:"horizontalPodAutoscalerConfig,omitempty"`
}

// Fallback is spec.fallback.
type Fallback struct {
	FailureThreshold int32  `json:"failureThreshold"`
	Replicas         int32  `json:"replicas"`
	Behavior         string `json:"behavior,omitempty"`
}

// Trigger is one of spec.triggers.
type Trigger struct {
	Type              string            `json:"type"`
	Name              string            `json:"name,omitempty"`
	Metadata          map[string]string `json:"metadata"`
	AuthenticationRef map[string]any    `json:"authenticationRef,omitempty"`
	MetricType        string            `json:"metricType,omitempty"`
	UseCachedMetrics  bool              `json:"useCachedMetrics,omitempty"`
}

// Target returns the reference to its target.
func (s *Spec) Target() autoscalingv2.CrossVersionObjectReference {
	ref := s.ScaleTargetRef
	return autoscalingv2.CrossVersionObjectReference{
		APIVersion: cmp.Or(ref.APIVersion, "apps/v1"), Kind: cmp.Or(ref.Kind, "Deployment"), Name: ref.Name,
	}
}

// Bounds are the least and the most replicas that its HPA asks for.
func (s *Spec) Bounds() (least, most int32) {
	return ptr.Deref(s.MinReplicaCount, defaultMinReplicas), ptr.Deref(s.MaxReplicaCount, defaultMaxReplicas)
}

// Behavior is that of its HPA, as it is written; nil if it has none.
func (s *Spec) Behavior() map[string]any {
	if s.Advanced == nil || s.Advanced.HorizontalPodAutoscalerConfig == nil {
		return nil
	}
	return s.Advanced.HorizontalPodAutoscalerConfig.Behavior
}
