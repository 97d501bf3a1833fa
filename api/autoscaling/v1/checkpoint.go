package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerticalPodAutoscalerCheckpoint keeps what a recommender knows of one
// container, so that the next recommender need not learn it again.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=vpacheckpoint
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes/kubernetes/pull/63797"
type VerticalPodAutoscalerCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Whose it is.
	// +optional
	Spec VerticalPodAutoscalerCheckpointSpec `json:"spec,omitempty"`

	// What is known.
	// +optional
	Status VerticalPodAutoscalerCheckpointStatus `json:"status,omitempty"`
}

// VerticalPodAutoscalerCheckpointList is several of them.
//
// +kubebuilder:object:root=true
type VerticalPodAutoscalerCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []VerticalPodAutoscalerCheckpoint `json:"items"`
}

// VerticalPodAutoscalerCheckpointSpec says whose checkpoint it is.
type VerticalPodAutoscalerCheckpointSpec struct {
	// The VerticalPodAutoscaler, in the same namespace.
	VPAObjectName string `json:"vpaObjectName,omitempty"`

	// The container.
	ContainerName string `json:"containerName,omitempty"`
}

// VerticalPodAutoscalerCheckpointStatus is what is known of the container.
type VerticalPodAutoscalerCheckpointStatus struct {
	// When it was written.
	// +nullable
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

	// The form of the rest; "v3".
	Version string `json:"version,omitempty"`

	// How much CPU was used.
	CPUHistogram HistogramCheckpoint `json:"cpuHistogram,omitempty"`

	// How much memory was used, at the peaks.
	MemoryHistogram HistogramCheckpoint `json:"memoryHistogram,omitempty"`

	// The time of the first sample of CPU.
	// +nullable
	FirstSampleStart metav1.Time `json:"firstSampleStart,omitempty"`

	// The time of the last sample of CPU.
	// +nullable
	LastSampleStart metav1.Time `json:"lastSampleStart,omitempty"`

	// How many samples of CPU there were.
	TotalSamplesCount int `json:"totalSamplesCount,omitempty"`
}

// HistogramCheckpoint is a histogram of decaying weights.
type HistogramCheckpoint struct {
	// The time at which a sample has the weight 1.
	// +nullable
	ReferenceTimestamp metav1.Time `json:"referenceTimestamp,omitempty"`

	// Each bucket's weight, by its index, relative to the heaviest, which has 10000.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	BucketWeights map[int]uint32 `json:"bucketWeights,omitempty"`

	// The sum that the weights of all buckets have in truth.
	TotalWeight float64 `json:"totalWeight,omitempty"`
}
