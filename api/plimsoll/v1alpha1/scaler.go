package v1alpha1

// ScalerMetricSource is a metric of one of KEDA's scalers, which plimsoll-scalers reads. The scaler also reports whether
// the metric is active.
type ScalerMetricSource struct {
	// The type of the trigger, as in a ScaledObject of KEDA: redis, rabbitmq, kafka, aws-sqs-queue and others.
	// plimsoll-scalers types lists them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Type string `json:"type"`

	// The metadata of the trigger, as in a ScaledObject.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) >= 1 && size(k) <= 253 && size(self[k]) <= 4096)`,message="must have keys of 1 to 253 characters, and values of at most 4096"
	Metadata map[string]string `json:"metadata,omitempty"`

	// The TriggerAuthentication with the scaler's credentials.
	// +optional
	AuthenticationRef *TriggerAuthenticationReference `json:"authenticationRef,omitempty"`

	// The name of one of the scaler's metrics. It is required if the scaler has several, as those for Solace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	MetricName string `json:"metricName,omitempty"`

	// The target: value in total, or averageValue for each pod. Without either of the two the target in metadata applies,
	// in total or for each pod, by type. Without the whole field it applies for each pod.
	// +optional
	Target *ExternalScalerTarget `json:"target,omitempty"`

	// The time between two requests to the scaler, in seconds, from 1 to 300. The default is 30, as KEDA's pollingInterval:
	// some servers charge for each request.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// How long the scaler may take, in seconds, from 1 to 30. The default is 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// TriggerAuthenticationReference names an object of KEDA's API with credentials.
type TriggerAuthenticationReference struct {
	// The name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// TriggerAuthentication, the default, of this object's namespace; or ClusterTriggerAuthentication.
	// +optional
	// +kubebuilder:default=TriggerAuthentication
	Kind TriggerAuthenticationKind `json:"kind,omitempty"`
}

// TriggerAuthenticationKind is the kind of an object with credentials.
//
// +kubebuilder:validation:Enum=TriggerAuthentication;ClusterTriggerAuthentication
type TriggerAuthenticationKind string

// The kinds of objects with credentials.
const (
	NamespacedTriggerAuthentication TriggerAuthenticationKind = "TriggerAuthentication"
	ClusterTriggerAuthentication    TriggerAuthenticationKind = "ClusterTriggerAuthentication"
)
