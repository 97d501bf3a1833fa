package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// PodUpdatePolicy is how recommendations reach the pods.
type PodUpdatePolicy struct {
	// When pods are changed; "Recreate" without it.
	// +optional
	UpdateMode *UpdateMode `json:"updateMode,omitempty"`

	// How many replicas must live before one is evicted; the updater's flag
	// --min-replicas without it. It must be above 0.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// What a change must be like to be worth an eviction; all of them must hold.
	// +optional
	EvictionRequirements []EvictionRequirement `json:"evictionRequirements,omitempty"`

	// A container that runs out of memory within this time of its start has its pod
	// evicted; the updater's flag --evict-after-oom-threshold without it.
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

// EvictionRequirement is what a change must be like to be worth an eviction.
type EvictionRequirement struct {
	// The resources that are looked at; one that changes as required is enough.
	Resources []corev1.ResourceName `json:"resources"`

	// The required change.
	ChangeRequirement EvictionChangeRequirement `json:"changeRequirement"`
}

// EvictionChangeRequirement compares the target with what is requested now.
//
// +kubebuilder:validation:Enum=TargetHigherThanRequests;TargetLowerThanRequests
type EvictionChangeRequirement string

// How the target compares with what is requested now.
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

// DefaultContainerResourcePolicy is the name of the policy for containers
// without one of their own.
const DefaultContainerResourcePolicy = "*"

// ContainerResourcePolicy bounds the recommendations of one container.
type ContainerResourcePolicy struct {
	// The container, or "*" for all that have no policy of their own.
	ContainerName string `json:"containerName,omitempty"`

	// "Off" leaves the container alone; "Auto" without it.
	// +optional
	Mode *ContainerScalingMode `json:"mode,omitempty"`

	// Never recommend less.
	// +optional
	MinAllowed corev1.ResourceList `json:"minAllowed,omitempty"`

	// Never recommend more.
	// +optional
	MaxAllowed corev1.ResourceList `json:"maxAllowed,omitempty"`

	// The resources that are recommended; [cpu, memory] without it.
	// +patchStrategy=merge
	ControlledResources *[]corev1.ResourceName `json:"controlledResources,omitempty" patchStrategy:"merge"`

	// Whether limits are changed along with requests; "RequestsAndLimits" without
	// it.
	// +optional
	ControlledValues *ContainerControlledValues `json:"controlledValues,omitempty"`

	// What memory is multiplied by after the container ran out of it; the
	// recommender's flag --oom-bump-up-ratio without it.
	// +optional
	OOMBumpUpRatio *resource.Quantity `json:"oomBumpUpRatio,omitempty"`

	// By how much memory is raised at least after the container ran out of it; the
	// recommender's flag --oom-min-bump-up-bytes without it.
	// +optional
	OOMMinBumpUp *resource.Quantity `json:"oomMinBumpUp,omitempty"`

	// One memory peak is kept for each interval of this length; the recommender's
	// flag --memory-aggregation-interval without it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryAggregationIntervalSeconds *int32 `json:"memoryAggregationIntervalSeconds,omitempty"`

	// After how many intervals without samples a container is forgotten; the
	// recommender's flag --memory-aggregation-interval-count without it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryAggregationIntervalCount *int64 `json:"memoryAggregationIntervalCount,omitempty"`

	// More CPU while this container starts, in place of what the whole object says.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// ContainerScalingMode is whether a container is recommended for.
//
// +kubebuilder:validation:Enum=Auto;Off
type ContainerScalingMode string

// Whether a container is recommended for.
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
	// ContainerControlledValuesRequestsOnly leaves limits alone.
	ContainerControlledValuesRequestsOnly ContainerControlledValues = "RequestsOnly"
)
