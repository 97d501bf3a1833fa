package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadAutoscaler sets the replica count of one workload. Its spec has the fields of a HorizontalPodAutoscaler's
// under the same names; each metric has a name in addition. Beyond that it has schedules, fallbacks, a pause, a
// preview, and scaling to zero.
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

	// The last observation and decision.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status WorkloadAutoscalerStatus `json:"status,omitempty"`

	// Unreadable is the reason why a reader could not decode the spec, which is then empty. It is never stored.
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
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || self.minReplicas != 0 || has(self.scaleToZero)`,message="must be at least 1 without scaleToZero",fieldPath=".minReplicas"
// +kubebuilder:validation:XValidation:rule=`!has(self.scaleToZero) || (has(self.minReplicas) && self.minReplicas == 0)`,message="may be set only where minReplicas is 0",fieldPath=".scaleToZero",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || self.minReplicas != 0 || !has(self.metrics) || size(self.metrics) == 0 || self.metrics.exists(m, m.type in ['Object', 'External', 'Prometheus', 'ExternalScaler', 'Scaler'] || has(m.podEndpoint) && (has(m.podEndpoint.podSelector) || has(m.podEndpoint.service)))`,message="must be at least 1 where there are metrics, but no Object, External, Prometheus, ExternalScaler or Scaler metric, and no PodEndpoint metric with podSelector or service",fieldPath=".minReplicas"
// +kubebuilder:validation:XValidation:rule=`(has(self.metrics) && size(self.metrics) > 0) || (has(self.schedules) && size(self.schedules) > 0)`,message="must have a metric where there are no schedules",fieldPath=".metrics",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`has(self.scaleToZero) || !has(self.metrics) || self.metrics.all(m, !has(m.activationValue))`,messageExpression=`'spec.metrics[#].activationValue may be set only beside scaleToZero'.replace('#', string(self.metrics.indexOf(self.metrics.filter(e, has(e.activationValue))[0])))`,fieldPath=".metrics",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.metrics) || self.metrics.all(m, !has(m.fallback) || !has(m.fallback.replicas) || m.fallback.replicas <= self.maxReplicas)`,messageExpression=`'spec.metrics[#].fallback.replicas must be less than or equal to spec.maxReplicas'.replace('#', string(self.metrics.indexOf(self.metrics.filter(e, has(e.fallback) && has(e.fallback.replicas) && e.fallback.replicas > self.maxReplicas)[0])))`,fieldPath=".metrics"
// +kubebuilder:validation:XValidation:rule=`!has(self.metrics) || self.metrics.filter(m, has(m.podEndpoint) && has(m.podEndpoint.path) && !self.metrics.exists(o, o.name < m.name && has(o.podEndpoint) && has(o.podEndpoint.path) && o.podEndpoint.path == m.podEndpoint.path)).size() <= 10`,message="must have PodEndpoint metrics on at most 10 different paths",fieldPath=".metrics"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || !has(self.schedules) || self.schedules.all(s, !has(s.maxReplicas) || s.maxReplicas >= self.minReplicas)`,messageExpression=`'spec.schedules[#].maxReplicas must be greater than or equal to spec.minReplicas'.replace('#', string(self.schedules.indexOf(self.schedules.filter(e, has(e.maxReplicas) && e.maxReplicas < self.minReplicas)[0])))`,fieldPath=".schedules"
// +kubebuilder:validation:XValidation:rule=`!has(self.schedules) || self.schedules.all(s, !has(s.minReplicas) || s.minReplicas <= self.maxReplicas)`,messageExpression=`'spec.schedules[#].minReplicas must be less than or equal to spec.maxReplicas'.replace('#', string(self.schedules.indexOf(self.schedules.filter(e, has(e.minReplicas) && e.minReplicas > self.maxReplicas)[0])))`,fieldPath=".schedules"
// +kubebuilder:validation:XValidation:rule=`!has(self.minReplicas) || !has(self.schedules) || self.schedules.all(s, !has(s.minReplicas) || s.minReplicas >= self.minReplicas)`,messageExpression=`'spec.schedules[#].minReplicas must be greater than or equal to spec.minReplicas, which a schedule cannot lower'.replace('#', string(self.schedules.indexOf(self.schedules.filter(e, has(e.minReplicas) && e.minReplicas < self.minReplicas)[0])))`,fieldPath=".schedules"
// +kubebuilder:validation:XValidation:rule=`!has(self.schedules) || self.schedules.all(s, !has(s.maxReplicas) || s.maxReplicas <= self.maxReplicas)`,messageExpression=`'spec.schedules[#].maxReplicas must be less than or equal to spec.maxReplicas, which a schedule cannot raise'.replace('#', string(self.schedules.indexOf(self.schedules.filter(e, has(e.maxReplicas) && e.maxReplicas > self.maxReplicas)[0])))`,fieldPath=".schedules"
// +kubebuilder:validation:XValidation:rule=`(has(self.metrics) && size(self.metrics) > 0) || !has(self.schedules) || size(self.schedules) == 0 || self.schedules.exists(s, has(s.minReplicas))`,message="must have one with minReplicas where there are no metrics",fieldPath=".schedules"
// +kubebuilder:validation:XValidation:rule=`!has(self.paused) || (has(self.mode) && self.mode == 'Paused')`,message="may be set only where mode is Paused",fieldPath=".paused",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.paused) || self.paused.replicas <= self.maxReplicas`,message="must be less than or equal to maxReplicas",fieldPath=".paused.replicas"
// +kubebuilder:validation:XValidation:rule=`!has(self.forecast) || (has(self.metrics) && size(self.metrics) > 0)`,message="may be set only where there are metrics",fieldPath=".forecast",reason="FieldValueForbidden"
type WorkloadAutoscalerSpec struct {
	// The workload whose replica count is set: a Deployment, StatefulSet, ReplicaSet,
	// ReplicationController, or any other object with a scale subresource, in the
	// namespace of the WorkloadAutoscaler. Its pods are those that its scale selects.
	// A kind outside of the core API needs its apiVersion.
	// +kubebuilder:validation:XValidation:rule=`self.kind == 'ReplicationController' || (has(self.apiVersion) && self.apiVersion.matches('^[^/]+/'))`,message="must specify the API group, as apps/v1 does",fieldPath=".apiVersion"
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef"`

	// The fewest replicas. The default is 1. 0 needs scaleToZero, and either a metric of type Object, External,
	// Prometheus, ExternalScaler or Scaler, or PodEndpoint with podSelector or service, or schedules and no metrics.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// The most replicas, from 1 to 1000000, which is more pods than a cluster has room
	// for. No metric, fallback, schedule, forecast or pause sets more.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxReplicas int32 `json:"maxReplicas"`

	// The metrics. Each proposes a replica count: the current one times the ratio of the
	// metric's value to its target. The largest proposal wins. There is no default metric.
	// Without metrics there must be schedules, and these alone set the count.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Metrics []MetricSpec `json:"metrics,omitempty"`

	// The limits on how fast the replica count rises and falls. Without it the count at most doubles in a sync period, or
	// rises to 4. It falls to the highest count that was proposed in the last 300 seconds, or in the time of the
	// controller's flag --horizontal-pod-autoscaler-downscale-stabilization. If it is set, even to an empty struct, both
	// directions have the defaults of their fields instead, as with a HorizontalPodAutoscaler.
	// +optional
	Behavior *Behavior `json:"behavior,omitempty"`

	// The longest time between two decisions, in seconds, from 3 to 3600. New samples and changed objects lead to
	// decisions in between. Without it the controller's flag --horizontal-pod-autoscaler-sync-period applies, by default
	// 15.
	// +optional
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=3600
	SyncPeriodSeconds *int32 `json:"syncPeriodSeconds,omitempty"`

	// The pods that count as the target's. LabelSelector, the default: all that the selector of its scale selects, as with
	// a HorizontalPodAutoscaler. OwnerReference: of those, only the pods that the target or one of its ReplicaSets owns.
	// +optional
	// +kubebuilder:default=LabelSelector
	SelectionStrategy SelectionStrategy `json:"selectionStrategy,omitempty"`

	// Active, the default, decides and scales. Preview decides and shows the decision in
	// status, and scales nothing. Paused keeps the replica count, or sets it to
	// paused.replicas; status still shows what the metrics propose.
	// +optional
	// +kubebuilder:default=Active
	Mode Mode `json:"mode,omitempty"`

	// The replica count while mode is Paused. It may be set only then. Without it the count stays the same.
	// +optional
	Paused *Paused `json:"paused,omitempty"`

	// Times at which the limits are tighter. While a schedule is in force, its
	// minReplicas can raise the fewest replicas, and its maxReplicas can lower the most.
	// If several are in force, the highest minReplicas and the lowest maxReplicas apply; where
	// the first exceeds the second, the second applies.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Schedules []Schedule `json:"schedules,omitempty"`

	// When the last replica is removed. It may be set only where minReplicas is 0, and it
	// must be set there, though it may be empty.
	// +optional
	ScaleToZero *ScaleToZero `json:"scaleToZero,omitempty"`

	// Whether replicas are added before a load comes that earlier days had at the same time.
	// It needs metrics. Without it the controller's flag --horizontal-pod-autoscaler-forecast
	// applies.
	// +optional
	Forecast *Forecast `json:"forecast,omitempty"`
}

// MostReplicas is the maximum of maxReplicas in the definition.
const MostReplicas = 1_000_000

// Paused has the replica count while the mode is Paused.
type Paused struct {
	// The replica count, at most maxReplicas. It may be below minReplicas, and 0.
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
}

// ScaleToZero configures removing the last replica. The first one comes back as soon as a metric is active or a
// schedule with minReplicas is in force.
type ScaleToZero struct {
	// The last replica is removed after this many seconds in which no metric was active and no schedule with minReplicas
	// was in force. The default is 300. A metric is active while its value is above its activationValue; an ExternalScaler
	// metric, while its scaler reports so. Resource, ContainerResource, Pods and PodEndpoint metrics are never active.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	CooldownSeconds *int32 `json:"cooldownSeconds,omitempty"`

	// For how many seconds after the creation of this object the last replica stays in any
	// case. The default is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	InitialCooldownSeconds *int32 `json:"initialCooldownSeconds,omitempty"`
}

// CrossVersionObjectReference names an object in the same namespace.
type CrossVersionObjectReference struct {
	// The kind of the object, such as Deployment. It begins with a capital letter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[a-z]')`,message="must be the kind as its API has it, such as Deployment, not the name of its resource"
	// +kubebuilder:validation:XValidation:rule=`!(self in ['.', '..']) && !self.contains('/') && !self.contains('%')`,message="must not be '.' or '..', nor contain '/' or '%'"
	Kind string `json:"kind"`

	// The name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`!(self in ['.', '..']) && !self.contains('/') && !self.contains('%')`,message="must not be '.' or '..', nor contain '/' or '%'"
	Name string `json:"name"`

	// The API group and version of the object, such as apps/v1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^/]*(/[^/]*)?$')`,message="must be a version, or a group and a version as in apps/v1"
	APIVersion string `json:"apiVersion,omitempty"`
}

// SelectionStrategy selects the pods that count as the target's.
//
// +kubebuilder:validation:Enum=LabelSelector;OwnerReference
type SelectionStrategy string

// The selection strategies.
const (
	// SelectionStrategyLabelSelector takes all pods that the scale's selector selects.
	SelectionStrategyLabelSelector SelectionStrategy = "LabelSelector"
	// SelectionStrategyOwnerReference takes only those that the target owns, directly
	// or through its ReplicaSets.
	SelectionStrategyOwnerReference SelectionStrategy = "OwnerReference"
)

// Mode is the treatment of decisions.
//
// +kubebuilder:validation:Enum=Active;Preview;Paused
type Mode string

// The modes.
const (
	// ModeActive decides and scales.
	ModeActive Mode = "Active"
	// ModePreview decides, and scales nothing.
	ModePreview Mode = "Preview"
	// ModePaused keeps the replica count, or sets it to paused.replicas.
	ModePaused Mode = "Paused"
)
