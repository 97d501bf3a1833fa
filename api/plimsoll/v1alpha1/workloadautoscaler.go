package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadAutoscaler sets the replica count of one workload. The spec of a
// HorizontalPodAutoscaler can be pasted into its spec. Beyond that it has schedules,
// fallbacks, a pause, a preview, and scaling to zero.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=wla,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Metrics",type="string",JSONPath=".status.summary.metrics",description="The current value and the target of the first metrics."
// +kubebuilder:printcolumn:name="Min",type="integer",JSONPath=".spec.minReplicas",description="The fewest replicas."
// +kubebuilder:printcolumn:name="Max",type="integer",JSONPath=".spec.maxReplicas",description="The most replicas."
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.currentReplicas",description="The target's replica count."
// +kubebuilder:printcolumn:name="Wanted",type="integer",JSONPath=".status.desiredReplicas",description="The replica count that was last decided."
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.summary.reason",description="What the wanted count follows from, or why the autoscaler does not act."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.scaleTargetRef.kind",description="The kind of the target.",priority=1
// +kubebuilder:printcolumn:name="Target",type="string",JSONPath=".spec.scaleTargetRef.name",description="The name of the target.",priority=1
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.mode",description="Active, Preview or Paused.",priority=1
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether it does what it is asked for.",priority=1
type WorkloadAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The workload, its metrics, and the limits of its replica count.
	Spec WorkloadAutoscalerSpec `json:"spec"`

	// What was last observed and decided.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status WorkloadAutoscalerStatus `json:"status,omitempty"`

	// Unreadable is why a reader could not decode the spec, which is then empty. It is
	// never stored.
	Unreadable string `json:"-"`
}

// WorkloadAutoscalerList is a list of WorkloadAutoscalers.
//
// +kubebuilder:object:root=true
type WorkloadAutoscalerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata"`

	Items []WorkloadAutoscaler `json:"items"`
}

// WorkloadAutoscalerSpec is the desired behavior of the autoscaler.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || self.minReplicas <= self.maxReplicas`,message="must be greater than or equal to minReplicas",fieldPath=".maxReplicas"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || self.minReplicas != 0 || !has(self.metrics) || size(self.metrics) == 0 || self.metrics.exists(m, m.type in ['Object', 'External', 'Prometheus', 'ExternalScaler'])`,message="must be at least 1 without an Object, External, Prometheus or ExternalScaler metric",fieldPath=".minReplicas"
// +kubebuilder:validation:XValidation:rule=`!has(self.metrics) || size(self.metrics) > 0 || (has(self.schedules) && size(self.schedules) > 0)`,message="must have a metric where there are no schedules; without the field CPU is the metric, at 80 % of the request",fieldPath=".metrics",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || !has(self.schedules) || self.schedules.all(s, !has(s.maxReplicas) || s.maxReplicas >= self.minReplicas)`,message="must have no maxReplicas below the minReplicas of the object",fieldPath=".schedules"
type WorkloadAutoscalerSpec struct {
	// The workload whose replica count is set: a Deployment, StatefulSet, ReplicaSet,
	// ReplicationController, or any other object with a scale subresource, in the
	// namespace of the WorkloadAutoscaler. Its pods are those that its scale selects.
	// A kind outside of the core API needs its apiVersion.
	// +kubebuilder:validation:XValidation:rule=`self.kind == 'ReplicationController' || (has(self.apiVersion) && self.apiVersion.matches('^[^/]+/'))`,message="must specify the API group, as apps/v1 does",fieldPath=".apiVersion"
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef"`

	// The fewest replicas. 0 permits scaling to zero, and needs an Object, External,
	// Prometheus or ExternalScaler metric, or no metrics at all beside schedules.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// The most replicas. No metric, fallback or schedule exceeds it.
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas"`

	// The metrics. Each proposes a replica count: the current one times the ratio of the
	// metric's value to its target. The largest proposal wins.
	// Without the field, CPU is the metric, at 80 % of what the pods request. An empty
	// list means no metrics: schedules alone then set the replica count.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:default={{type: "Resource", resource: {name: "cpu", target: {type: "Utilization", averageUtilization: 80}}}}
	Metrics []MetricSpec `json:"metrics,omitzero"`

	// How fast the replica count may rise and fall. Without it the flags of the
	// controller hold.
	// +optional
	Behavior *Behavior `json:"behavior,omitempty"`

	// How often the replica count is decided at least, in seconds. Without it the
	// controller's flag --horizontal-pod-autoscaler-sync-period holds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	SyncPeriodSeconds *int32 `json:"syncPeriodSeconds,omitempty"`

	// Which pods count as the target's. LabelSelector: all that the selector of its
	// scale selects, as with a HorizontalPodAutoscaler. OwnerReferences: of those, only
	// the pods that the target or one of its ReplicaSets owns.
	// +optional
	// +kubebuilder:default=LabelSelector
	SelectionStrategy SelectionStrategy `json:"selectionStrategy,omitempty"`

	// Active decides and scales. Preview decides and shows the decision in status, and
	// scales nothing. Paused keeps the replica count, or sets it to pausedReplicas; status
	// still shows what the metrics propose.
	// +optional
	// +kubebuilder:default=Active
	Mode Mode `json:"mode,omitempty"`

	// The replica count while mode is Paused, also outside of minReplicas and
	// maxReplicas. Without it the count stays as it is. It has no effect in another mode.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PausedReplicas *int32 `json:"pausedReplicas,omitempty"`

	// Times at which the limits are tighter. While a schedule is in force, its
	// minReplicas can raise the fewest replicas, and its maxReplicas can lower the most.
	// Of several at once the highest minReplicas and the lowest maxReplicas hold; where
	// the first exceeds the second, the second holds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Schedules []Schedule `json:"schedules,omitempty"`

	// How long no Object, External, Prometheus or ExternalScaler metric must have been
	// active before the last replica is removed, in seconds. It has an effect where
	// minReplicas is 0. A metric is active while its value is above its activationValue;
	// an ExternalScaler metric, while its scaler says so.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`

	// How long after the creation of this object the last replica stays in any case, in
	// seconds. It has an effect where minReplicas is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	InitialCooldownPeriod *int32 `json:"initialCooldownPeriod,omitempty"`

	// Whether replicas are added before the load comes that earlier days have had at this
	// time. Without it the controller's flag --horizontal-pod-autoscaler-forecast holds.
	// +optional
	Forecast *Forecast `json:"forecast,omitempty"`
}

// CrossVersionObjectReference names an object in the same namespace.
type CrossVersionObjectReference struct {
	// The kind of the object, as Deployment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`!(self in ['.', '..']) && !self.contains('/') && !self.contains('%')`,message="must not be '.' or '..', nor contain '/' or '%'"
	Kind string `json:"kind"`

	// The name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`!(self in ['.', '..']) && !self.contains('/') && !self.contains('%')`,message="must not be '.' or '..', nor contain '/' or '%'"
	Name string `json:"name"`

	// The API group and version of the object, as apps/v1.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^/]*(/[^/]*)?$')`,message="must be a version, or a group and a version as in apps/v1"
	APIVersion string `json:"apiVersion,omitempty"`
}

// SelectionStrategy is which pods count as the target's.
//
// +kubebuilder:validation:Enum=LabelSelector;OwnerReferences
type SelectionStrategy string

// The selection strategies.
const (
	// SelectionStrategyLabelSelector takes all pods that the scale's selector selects.
	SelectionStrategyLabelSelector SelectionStrategy = "LabelSelector"
	// SelectionStrategyOwnerReferences takes only those that the target owns, directly
	// or through its ReplicaSets.
	SelectionStrategyOwnerReferences SelectionStrategy = "OwnerReferences"
)

// Mode is what becomes of a decision.
//
// +kubebuilder:validation:Enum=Active;Preview;Paused
type Mode string

// The modes.
const (
	// ModeActive decides and scales.
	ModeActive Mode = "Active"
	// ModePreview decides, and scales nothing.
	ModePreview Mode = "Preview"
	// ModePaused keeps the replica count, or sets it to pausedReplicas.
	ModePaused Mode = "Paused"
)
