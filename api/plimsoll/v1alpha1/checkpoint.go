package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AutoscalerCheckpoints is the plural name of the checkpoints.
const AutoscalerCheckpoints = "autoscalercheckpoints"

// CheckpointKind is the kind of the checkpoints.
const CheckpointKind = "AutoscalerCheckpoint"

// The maximum bytes of a checkpoint; the API server counts them in base64, which makes four characters of three bytes.
const (
	MaxHistoryBytes  = 16384 / 4 * 3
	MaxForecastBytes = 12288 / 4 * 3
)

// AutoscalerCheckpoint stores the history and the forecast of the load of one HorizontalPodAutoscaler or
// WorkloadAutoscaler. The controller writes it every hour, and reads it when it starts. It is deleted with its
// autoscaler. It has no status: nobody but the controller writes it, and it writes an object in whole, so that a forecast
// and its history are of the same time.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ascheckpoint
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.autoscaler.kind",description="The kind of the autoscaler."
// +kubebuilder:printcolumn:name="Autoscaler",type="string",JSONPath=".spec.autoscaler.name",description="The name of the autoscaler."
// +kubebuilder:printcolumn:name="Saved",type="date",JSONPath=".spec.lastUpdateTime",description="When it was last written."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AutoscalerCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The autoscaler, and what the controller has learnt of its load.
	Spec AutoscalerCheckpointSpec `json:"spec"`

	// Unreadable is the reason why a reader could not decode the object, which then has only metadata. It is never stored.
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

// AutoscalerCheckpointSpec has the history and the forecast of the load of an autoscaler.
type AutoscalerCheckpointSpec struct {
	// The autoscaler, in the namespace of the checkpoint.
	Autoscaler CheckpointedAutoscaler `json:"autoscaler"`

	// When the controller wrote the checkpoint.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// The history of the load, in the controller's own format.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	History []byte `json:"history,omitempty"`

	// The learnt forecast of the load, in the controller's own format.
	// +optional
	// +kubebuilder:validation:MaxLength=12288
	Forecast []byte `json:"forecast,omitempty"`
}

// CheckpointedAutoscaler identifies one object, as opposed to a later one of the same name.
type CheckpointedAutoscaler struct {
	// The kind of the autoscaler.
	// +kubebuilder:validation:Enum=HorizontalPodAutoscaler;WorkloadAutoscaler
	Kind string `json:"kind"`

	// The name of the autoscaler.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// The UID of the autoscaler. A new autoscaler of the same name does not start with the history of an earlier one.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	UID types.UID `json:"uid"`
}
