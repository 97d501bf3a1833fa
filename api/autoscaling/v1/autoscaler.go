package v1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerticalPodAutoscaler adjusts the requests of one workload's pods to the usage of their containers.
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

	// The desired behavior.
	Spec VerticalPodAutoscalerSpec `json:"spec"`

	// The last observation and recommendation.
	// +optional
	Status VerticalPodAutoscalerStatus `json:"status,omitempty"`

	// Unreadable is the reason why a reader could not decode the spec, which is then empty. It is never stored.
	Unreadable string `json:"-"`
}

// VerticalPodAutoscalerList is a list of VerticalPodAutoscalers.
//
// +kubebuilder:object:root=true
type VerticalPodAutoscalerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata"`

	Items []VerticalPodAutoscaler `json:"items"`
}

// VerticalPodAutoscalerSpec selects the pods, the way of changing them, and the bounds of their resources.
type VerticalPodAutoscalerSpec struct {
	// The workload whose pods are autoscaled: a Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController,
	// Job, CronJob, or any other object with a scale subresource that has a selector. It must be the topmost owner of its
	// pods. The number of pods is never changed.
	TargetRef *autoscalingv1.CrossVersionObjectReference `json:"targetRef"`

	// How recommendations reach the pods.
	// +optional
	UpdatePolicy *PodUpdatePolicy `json:"updatePolicy,omitempty"`

	// Bounds of the recommendations. Without it every container gets recommendations without bounds; a policy of mode
	// "Off" excludes a container.
	// +optional
	ResourcePolicy *PodResourcePolicy `json:"resourcePolicy,omitempty"`

	// The recommender that is responsible; at most one. None means the recommender named "default".
	// +optional
	Recommenders []VerticalPodAutoscalerRecommenderSelector `json:"recommenders,omitempty"`

	// More CPU while containers start.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// VerticalPodAutoscalerRecommenderSelector names a recommender.
type VerticalPodAutoscalerRecommenderSelector struct {
	// The name of the recommender.
	Name string `json:"name"`
}

// StartupBoost raises the resources of containers while they start.
type StartupBoost struct {
	// CPU during start-up. Without it there is no boost.
	// +optional
	CPU *GenericStartupBoost `json:"cpu,omitempty"`
}

// GenericStartupBoost is the increase of one resource, and its duration.
//
// +union
// +kubebuilder:validation:XValidation:rule="(self.type == 'Factor') == has(self.factor)",message="factor is required when type is Factor and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Quantity') == has(self.quantity)",message="quantity is required when type is Quantity and forbidden otherwise"
type GenericStartupBoost struct {
	// "Factor" multiplies, "Quantity" adds.
	// +unionDiscriminator
	// +required
	Type StartupBoostType `json:"type"`

	// The factor of the request. It may be set only with type "Factor".
	// +unionMember=Factor
	// +optional
	Factor *int32 `json:"factor,omitempty"`

	// The amount that is added to the request. It may be set only with type "Quantity".
	// +unionMember=Quantity
	// +optional
	Quantity *resource.Quantity `json:"quantity,omitempty"`

	// How long the boost stays once the pod is ready. The default is 0.
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

// VerticalPodAutoscalerStatus is the last observation and recommendation.
type VerticalPodAutoscalerStatus struct {
	// The newest recommendation.
	// +optional
	Recommendation *RecommendedPodResources `json:"recommendation,omitempty"`

	// The conditions of the object.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []VerticalPodAutoscalerCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// The generation of the object that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// RecommendedPodResources has a recommendation for each container that is not excluded.
type RecommendedPodResources struct {
	// One for each container.
	// +optional
	ContainerRecommendations []RecommendedContainerResources `json:"containerRecommendations,omitempty"`
}

// RecommendedContainerResources is the recommendation for one container, within the bounds of its policy.
type RecommendedContainerResources struct {
	// The container.
	ContainerName string `json:"containerName,omitempty"`

	// The recommended requests.
	Target corev1.ResourceList `json:"target"`

	// With less than this the container probably has too little.
	// +optional
	LowerBound corev1.ResourceList `json:"lowerBound,omitempty"`

	// More than this is probably wasted.
	// +optional
	UpperBound corev1.ResourceList `json:"upperBound,omitempty"`

	// The target without minAllowed and maxAllowed. It is informational, and never applied.
	// +optional
	UncappedTarget corev1.ResourceList `json:"uncappedTarget,omitempty"`
}

// VerticalPodAutoscalerConditionType is the type of a condition.
type VerticalPodAutoscalerConditionType string

// The types of conditions.
const (
	// RecommendationProvided is True if there is a recommendation.
	RecommendationProvided VerticalPodAutoscalerConditionType = "RecommendationProvided"
	// LowConfidence is True if the recommendation rests on little history.
	LowConfidence VerticalPodAutoscalerConditionType = "LowConfidence"
	// NoPodsMatched is True if the target has no pods.
	NoPodsMatched VerticalPodAutoscalerConditionType = "NoPodsMatched"
	// FetchingHistory is True while history is being read.
	FetchingHistory VerticalPodAutoscalerConditionType = "FetchingHistory"
	// ConfigDeprecated is True if the object uses settings whose support will end.
	ConfigDeprecated VerticalPodAutoscalerConditionType = "ConfigDeprecated"
	// ConfigUnsupported is True if there can be no recommendation for the object.
	ConfigUnsupported VerticalPodAutoscalerConditionType = "ConfigUnsupported"
)

// VerticalPodAutoscalerCondition is a condition of the object.
type VerticalPodAutoscalerCondition struct {
	// The type of the condition.
	Type VerticalPodAutoscalerConditionType `json:"type"`

	// "True", "False" or "Unknown".
	Status corev1.ConditionStatus `json:"status"`

	// When the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// The reason, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The reason, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// The generation of the object that the condition is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}
