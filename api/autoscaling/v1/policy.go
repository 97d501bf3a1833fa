package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// PodUpdatePolicy configures the changes of pods.
type PodUpdatePolicy struct {
	// When pods are changed; "Recreate" without it.
	// +optional
	UpdateMode *UpdateMode `json:"updateMode,omitempty"`

	// The minimum of running replicas for an eviction. It must be above 0. Without it the updater's flag --min-replicas
	// applies.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// Conditions on a change for an eviction; all of them must hold.
	// +optional
	EvictionRequirements []EvictionRequirement `json:"evictionRequirements,omitempty"`

	// If a container runs out of memory within this time of its start, its pod is evicted. Without it the updater's flag
	// --evict-after-oom-threshold applies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	EvictAfterOOMSeconds *int32 `json:"evictAfterOOMSeconds,omitempty"`
}

// UpdateMode is when pods are changed.
//
// +kubebuilder:validation:Enum=Off;Initial;Recreate;InPlaceOrRecreate;InPlace;Auto
type UpdateMode string

// When pods are changed.
const (
	// UpdateModeOff only recommends.
	UpdateModeOff UpdateMode = "Off"
	// UpdateModeInitial changes pods only as they are created.
	UpdateModeInitial UpdateMode = "Initial"
	// UpdateModeRecreate also evicts pods, so that others take their place.
	UpdateModeRecreate UpdateMode = "Recreate"
	// UpdateModeInPlaceOrRecreate resizes pods, and evicts where that fails.
	UpdateModeInPlaceOrRecreate UpdateMode = "InPlaceOrRecreate"
	// UpdateModeInPlace resizes pods and never evicts.
	UpdateModeInPlace UpdateMode = "InPlace"
	// UpdateModeAuto is the old name of UpdateModeRecreate.
	UpdateModeAuto UpdateMode = "Auto"
)

// EvictionRequirement is a condition on a change for an eviction.
type EvictionRequirement struct {
	// The resources to compare; one that changes as required is enough.
	Resources []corev1.ResourceName `json:"resources"`

	// The required change.
	ChangeRequirement EvictionChangeRequirement `json:"changeRequirement"`
}

// EvictionChangeRequirement compares the target with the current requests.
//
// +kubebuilder:validation:Enum=TargetHigherThanRequests;TargetLowerThanRequests
type EvictionChangeRequirement string

// How the target compares with the current requests.
const (
	TargetHigherThanRequests EvictionChangeRequirement = "TargetHigherThanRequests"
	TargetLowerThanRequests  EvictionChangeRequirement = "TargetLowerThanRequests"
)

// PodResourcePolicy bounds the recommendations of a pod's containers.
type PodResourcePolicy struct {
	// At most one for each container, and one named "*" for those without one.
	// +optional
	// +patchMergeKey=containerName
	// +patchStrategy=merge
	ContainerPolicies []ContainerResourcePolicy `json:"containerPolicies,omitempty" patchStrategy:"merge" patchMergeKey:"containerName"`
}

// DefaultContainerResourcePolicy is the name of the policy for containers without their own.
const DefaultContainerResourcePolicy = "*"

// ContainerResourcePolicy bounds the recommendations of one container.
type ContainerResourcePolicy struct {
	// The container, or "*" for all without a policy of their own.
	ContainerName string `json:"containerName,omitempty"`

	// "Off" excludes the container. The default is "Auto".
	// +optional
	Mode *ContainerScalingMode `json:"mode,omitempty"`

	// The minimum recommendation.
	// +optional
	MinAllowed corev1.ResourceList `json:"minAllowed,omitempty"`

	// The maximum recommendation.
	// +optional
	MaxAllowed corev1.ResourceList `json:"maxAllowed,omitempty"`

	// The resources to recommend. The default is [cpu, memory].
	// +patchStrategy=merge
	ControlledResources *[]corev1.ResourceName `json:"controlledResources,omitempty" patchStrategy:"merge"`

	// Whether limits are changed along with requests. The default is "RequestsAndLimits".
	// +optional
	ControlledValues *ContainerControlledValues `json:"controlledValues,omitempty"`

	// The factor by which memory is raised after the container ran out of it. Without it the recommender's flag
	// --oom-bump-up-ratio applies.
	// +optional
	OOMBumpUpRatio *resource.Quantity `json:"oomBumpUpRatio,omitempty"`

	// The minimum by which memory is raised after the container ran out of it. Without it the recommender's flag
	// --oom-min-bump-up-bytes applies.
	// +optional
	OOMMinBumpUp *resource.Quantity `json:"oomMinBumpUp,omitempty"`

	// The length of the intervals of which one memory peak each is kept. Without it the recommender's flag
	// --memory-aggregation-interval applies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryAggregationIntervalSeconds *int32 `json:"memoryAggregationIntervalSeconds,omitempty"`

	// The number of intervals without samples after which a container is forgotten. Without it the recommender's flag
	// --memory-aggregation-interval-count applies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryAggregationIntervalCount *int64 `json:"memoryAggregationIntervalCount,omitempty"`

	// More CPU while this container starts, in place of the setting of the whole object.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// ContainerScalingMode is whether a container gets recommendations.
//
// +kubebuilder:validation:Enum=Auto;Off
type ContainerScalingMode string

// Whether a container gets recommendations.
const (
	ContainerScalingModeAuto ContainerScalingMode = "Auto"
	ContainerScalingModeOff  ContainerScalingMode = "Off"
)

// ContainerControlledValues is which values of a container are changed.
//
// +kubebuilder:validation:Enum=RequestsAndLimits;RequestsOnly
type ContainerControlledValues string

// Which values of a container are changed.
const (
	// ContainerControlledValuesRequestsAndLimits keeps limits in proportion.
	ContainerControlledValuesRequestsAndLimits ContainerControlledValues = "RequestsAndLimits"
	// ContainerControlledValuesRequestsOnly leaves limits unchanged.
	ContainerControlledValuesRequestsOnly ContainerControlledValues = "RequestsOnly"
)
