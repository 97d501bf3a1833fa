package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AutoscalerCheckpoints is the plural name of the checkpoints.
const AutoscalerCheckpoints = "autoscalercheckpoints"

// CheckpointKind is the kind of the checkpoints.
const CheckpointKind = "AutoscalerCheckpoint"

// The most bytes that a checkpoint may hold; the API server counts them in base64, which makes four
// characters of three bytes.
const (
	MaxHistoryBytes  = 16384 / 4 * 3
	MaxForecastBytes = 12288 / 4 * 3
)

// AutoscalerCheckpoint is what the controller has learnt of the load of one
// HorizontalPodAutoscaler or WorkloadAutoscaler. The controller writes it every hour, and
// reads it when it starts. It is deleted with its autoscaler.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ascheckpoint
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.autoscaler.kind",description="The kind of the autoscaler."
// +kubebuilder:printcolumn:name="Autoscaler",type="string",JSONPath=".spec.autoscaler.name",description="The name of the autoscaler."
// +kubebuilder:printcolumn:name="Saved",type="date",JSONPath=".status.savedAt",description="When it was last written."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AutoscalerCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which autoscaler it is of.
	Spec AutoscalerCheckpointSpec `json:"spec"`

	// What was learnt. The controller alone writes it.
	// +optional
	Status AutoscalerCheckpointStatus `json:"status,omitempty"`

	// Unreadable is why a reader could not decode the object, of which there are then only the
	// metadata. It is never stored.
	Unreadable string `json:"-"`
}

// AutoscalerCheckpointList is a list of AutoscalerCheckpoints.
//
// +kubebuilder:object:root=true
type AutoscalerCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata"`

	Items []AutoscalerCheckpoint `json:"items"`
}

// AutoscalerCheckpointSpec names the autoscaler of a checkpoint.
type AutoscalerCheckpointSpec struct {
	// The autoscaler, in the namespace of the checkpoint.
	Autoscaler CheckpointedAutoscaler `json:"autoscaler"`
}

// CheckpointedAutoscaler is one object, not another one that has its name later.
type CheckpointedAutoscaler struct {
	// The kind of the autoscaler.
	// +kubebuilder:validation:Enum=HorizontalPodAutoscaler;WorkloadAutoscaler
	Kind string `json:"kind"`

	// The name of the autoscaler.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The UID of the autoscaler. A new autoscaler of the same name does not begin with
	// what an earlier one has learnt.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	UID types.UID `json:"uid"`
}

// AutoscalerCheckpointStatus is what was learnt of the load of an autoscaler.
type AutoscalerCheckpointStatus struct {
	// When it was written.
	// +optional
	SavedAt metav1.Time `json:"savedAt,omitempty"`

	// The history of the load, in a form of the controller's own.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	History []byte `json:"history,omitempty"`

	// What the forecast has learnt of the load, in a form of the controller's own.
	// +optional
	// +kubebuilder:validation:MaxLength=12288
	Forecast []byte `json:"forecast,omitempty"`
}
