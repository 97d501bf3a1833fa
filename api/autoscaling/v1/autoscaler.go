package v1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerticalPodAutoscaler asks for the requests of one workload's pods to follow
// what its containers use.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=vpa
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.updatePolicy.updateMode"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.recommendation.containerRecommendations[0].target.cpu"
// +kubebuilder:printcolumn:name="Mem",type="string",JSONPath=".status.recommendation.containerRecommendations[0].target.memory"
// +kubebuilder:printcolumn:name="Provided",type="string",JSONPath=".status.conditions[?(@.type=='RecommendationProvided')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="MinReplicas",type="integer",JSONPath=".spec.updatePolicy.minReplicas",priority=1
// +kubebuilder:printcolumn:name="OOMSeconds",type="integer",JSONPath=".spec.updatePolicy.evictAfterOOMSeconds",priority=1
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes/kubernetes/pull/63797"
type VerticalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is asked for.
	Spec VerticalPodAutoscalerSpec `json:"spec"`

	// What was found and recommended.
	// +optional
	Status VerticalPodAutoscalerStatus `json:"status,omitempty"`

	// Unreadable says why a reader could not read the spec; it is then empty. It is
	// never stored.
	Unreadable string `json:"-"`
}

// VerticalPodAutoscalerList is several of them.
//
// +kubebuilder:object:root=true
type VerticalPodAutoscalerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata"`

	Items []VerticalPodAutoscaler `json:"items"`
}

// VerticalPodAutoscalerSpec says which pods, how they are changed, and within
// which bounds.
type VerticalPodAutoscalerSpec struct {
	// The workload whose pods are meant: a Deployment, StatefulSet, DaemonSet,
	// ReplicaSet, ReplicationController, Job, CronJob, or anything else with a
	// scale subresource that tells its selector. It must be the topmost owner of
	// its pods. The number of pods is never changed.
	TargetRef *autoscalingv1.CrossVersionObjectReference `json:"targetRef"`

	// How recommendations reach the pods.
	// +optional
	UpdatePolicy *PodUpdatePolicy `json:"updatePolicy,omitempty"`

	// Bounds of the recommendations. Without it every container is recommended
	// for, without bounds; a container is left out by a policy of mode "Off".
	// +optional
	ResourcePolicy *PodResourcePolicy `json:"resourcePolicy,omitempty"`

	// The recommender that is responsible; at most one. None means the one that
	// is called "default".
	// +optional
	Recommenders []VerticalPodAutoscalerRecommenderSelector `json:"recommenders,omitempty"`

	// More CPU while containers start.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// VerticalPodAutoscalerRecommenderSelector names a recommender.
type VerticalPodAutoscalerRecommenderSelector struct {
	// The name that the recommender runs with.
	Name string `json:"name"`
}

// StartupBoost says what containers get while they start.
type StartupBoost struct {
	// CPU while starting; no more than usual without it.
	// +optional
	CPU *GenericStartupBoost `json:"cpu,omitempty"`
}

// GenericStartupBoost is by how much one resource is raised, and for how long.
//
// +union
// +kubebuilder:validation:XValidation:rule="(self.type == 'Factor') == has(self.factor)",message="factor is required when type is Factor and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Quantity') == has(self.quantity)",message="quantity is required when type is Quantity and forbidden otherwise"
type GenericStartupBoost struct {
	// "Factor" multiplies, "Quantity" adds.
	// +unionDiscriminator
	// +required
	Type StartupBoostType `json:"type"`

	// What the request is multiplied by; with type "Factor" alone.
	// +unionMember=Factor
	// +optional
	Factor *int32 `json:"factor,omitempty"`

	// What is added to the request; with type "Quantity" alone.
	// +unionMember=Quantity
	// +optional
	Quantity *resource.Quantity `json:"quantity,omitempty"`

	// For how long the boost stays once the pod is ready; 0 without it.
	// +optional
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`
}

// StartupBoostType is how a boost is computed.
//
// +kubebuilder:validation:Enum=Factor;Quantity
type StartupBoostType string

// How a boost is computed.
const (
	FactorStartupBoostType   StartupBoostType = "Factor"
	QuantityStartupBoostType StartupBoostType = "Quantity"
)

// VerticalPodAutoscalerStatus is what was found and recommended.
type VerticalPodAutoscalerStatus struct {
	// The newest recommendation.
	// +optional
	Recommendation *RecommendedPodResources `json:"recommendation,omitempty"`

	// What stands in the way, and what does not.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []VerticalPodAutoscalerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// The generation of the object that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// RecommendedPodResources has a recommendation for each container that is not
// left out.
type RecommendedPodResources struct {
	// One for each container.
	// +optional
	ContainerRecommendations []RecommendedContainerResources `json:"containerRecommendations,omitempty"`
}

// RecommendedContainerResources is what one container should request, within
// the bounds of its policy.
type RecommendedContainerResources struct {
	// The container.
	ContainerName string `json:"containerName,omitempty"`

	// What it should request.
	Target corev1.ResourceList `json:"target"`

	// With less than this it is likely to suffer.
	// +optional
	LowerBound corev1.ResourceList `json:"lowerBound,omitempty"`

	// More than this is likely to be wasted.
	// +optional
	UpperBound corev1.ResourceList `json:"upperBound,omitempty"`

	// What the target would be without minAllowed and maxAllowed. It is shown and
	// never applied.
	// +optional
	UncappedTarget corev1.ResourceList `json:"uncappedTarget,omitempty"`
}

// VerticalPodAutoscalerConditionType is what a condition is about.
type VerticalPodAutoscalerConditionType string

// What a condition is about.
const (
	// RecommendationProvided reports whether there is a recommendation.
	RecommendationProvided VerticalPodAutoscalerConditionType = "RecommendationProvided"
	// LowConfidence reports whether it rests on little history.
	LowConfidence VerticalPodAutoscalerConditionType = "LowConfidence"
	// NoPodsMatched reports whether the target has no pods.
	NoPodsMatched VerticalPodAutoscalerConditionType = "NoPodsMatched"
	// FetchingHistory reports whether history is still being read.
	FetchingHistory VerticalPodAutoscalerConditionType = "FetchingHistory"
	// ConfigDeprecated reports whether the object will stop being supported.
	ConfigDeprecated VerticalPodAutoscalerConditionType = "ConfigDeprecated"
	// ConfigUnsupported reports whether nothing can be recommended for the object as
	// it is.
	ConfigUnsupported VerticalPodAutoscalerConditionType = "ConfigUnsupported"
)

// VerticalPodAutoscalerCondition is one thing that is known of the object.
type VerticalPodAutoscalerCondition struct {
	// What it is about.
	Type VerticalPodAutoscalerConditionType `json:"type"`

	// "True", "False" or "Unknown".
	Status corev1.ConditionStatus `json:"status"`

	// When the status last became another.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// Why, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Why, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// The generation of the object that it is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}
