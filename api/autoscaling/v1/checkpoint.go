package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VerticalPodAutoscalerCheckpoint stores a recommender's history of one container, so that the next recommender starts
// with it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=vpacheckpoint
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes/kubernetes/pull/63797"
type VerticalPodAutoscalerCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The container.
	// +optional
	Spec VerticalPodAutoscalerCheckpointSpec `json:"spec,omitempty"`

	// The history.
	// +optional
	Status VerticalPodAutoscalerCheckpointStatus `json:"status,omitempty"`
}

// VerticalPodAutoscalerCheckpointList is a list of checkpoints.
//
// +kubebuilder:object:root=true
type VerticalPodAutoscalerCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []VerticalPodAutoscalerCheckpoint `json:"items"`
}

// VerticalPodAutoscalerCheckpointSpec names the container of a checkpoint.
type VerticalPodAutoscalerCheckpointSpec struct {
	// The VerticalPodAutoscaler, in the same namespace.
	VPAObjectName string `json:"vpaObjectName,omitempty"`

	// The container.
	ContainerName string `json:"containerName,omitempty"`
}

// VerticalPodAutoscalerCheckpointStatus is the history of the container.
type VerticalPodAutoscalerCheckpointStatus struct {
	// When it was written.
	// +nullable
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

	// The version of the format; "v3".
	Version string `json:"version,omitempty"`

	// The CPU usage.
	CPUHistogram HistogramCheckpoint `json:"cpuHistogram,omitempty"`

	// The memory usage, at its peaks.
	MemoryHistogram HistogramCheckpoint `json:"memoryHistogram,omitempty"`

	// The time of the first sample of CPU.
	// +nullable
	FirstSampleStart metav1.Time `json:"firstSampleStart,omitempty"`

	// The time of the last sample of CPU.
	// +nullable
	LastSampleStart metav1.Time `json:"lastSampleStart,omitempty"`

	// The number of samples of CPU.
	TotalSamplesCount int `json:"totalSamplesCount,omitempty"`
}

// HistogramCheckpoint is a histogram of decaying weights.
type HistogramCheckpoint struct {
	// The time of a sample with the weight 1.
	// +nullable
	ReferenceTimestamp metav1.Time `json:"referenceTimestamp,omitempty"`

	// Each bucket's weight, by its index, relative to the heaviest, which has 10000.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	BucketWeights map[int]uint32 `json:"bucketWeights,omitempty"`

	// The actual sum of the weights of all buckets.
	TotalWeight float64 `json:"totalWeight,omitempty"`
}
