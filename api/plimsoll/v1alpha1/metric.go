package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// MetricSpec is one metric with its name and its target. It has the field that its type
// names, and no other of the nine.
//
// +kubebuilder:validation:XValidation:rule=`self.type != 'Resource' || has(self.resource)`,message="must be set where type is Resource",fieldPath=".resource",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Resource' || !has(self.resource)`,message="may be set only where type is Resource",fieldPath=".resource",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'ContainerResource' || has(self.containerResource)`,message="must be set where type is ContainerResource",fieldPath=".containerResource",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'ContainerResource' || !has(self.containerResource)`,message="may be set only where type is ContainerResource",fieldPath=".containerResource",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'Pods' || has(self.pods)`,message="must be set where type is Pods",fieldPath=".pods",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Pods' || !has(self.pods)`,message="may be set only where type is Pods",fieldPath=".pods",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'Object' || has(self.object)`,message="must be set where type is Object",fieldPath=".object",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Object' || !has(self.object)`,message="may be set only where type is Object",fieldPath=".object",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'External' || has(self.external)`,message="must be set where type is External",fieldPath=".external",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'External' || !has(self.external)`,message="may be set only where type is External",fieldPath=".external",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'PodEndpoint' || has(self.podEndpoint)`,message="must be set where type is PodEndpoint",fieldPath=".podEndpoint",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'PodEndpoint' || !has(self.podEndpoint)`,message="may be set only where type is PodEndpoint",fieldPath=".podEndpoint",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'Prometheus' || has(self.prometheus)`,message="must be set where type is Prometheus",fieldPath=".prometheus",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Prometheus' || !has(self.prometheus)`,message="may be set only where type is Prometheus",fieldPath=".prometheus",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'ExternalScaler' || has(self.externalScaler)`,message="must be set where type is ExternalScaler",fieldPath=".externalScaler",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'ExternalScaler' || !has(self.externalScaler)`,message="may be set only where type is ExternalScaler",fieldPath=".externalScaler",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'Scaler' || has(self.scaler)`,message="must be set where type is Scaler",fieldPath=".scaler",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Scaler' || !has(self.scaler)`,message="may be set only where type is Scaler",fieldPath=".scaler",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`!has(self.activationValue) || self.type in ['Object', 'External', 'Prometheus'] || has(self.podEndpoint) && (has(self.podEndpoint.podSelector) || has(self.podEndpoint.service))`,message="may be set only where type is Object, External or Prometheus, or PodEndpoint with podSelector or service",fieldPath=".activationValue",reason="FieldValueForbidden"
type MetricSpec struct {
	// The name of the metric within this object, by which status, conditions, events and
	// plimsoll explain name it. Two metrics of an object have different names. With
	// server-side apply each metric may have an owner of its own.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Where the metric comes from. The field of the same name has the rest: type
	// PodEndpoint needs podEndpoint.
	Type MetricSourceType `json:"type"`

	// CPU or memory of the pods, from the kubelets or metrics.k8s.io.
	// +optional
	Resource *ResourceMetricSource `json:"resource,omitempty"`

	// CPU or memory of one container in each of the pods.
	// +optional
	ContainerResource *ContainerResourceMetricSource `json:"containerResource,omitempty"`

	// A metric of each of the pods, from custom.metrics.k8s.io, such as requests per second.
	// The values are averaged.
	// +optional
	Pods *PodsMetricSource `json:"pods,omitempty"`

	// A metric of one other object, from custom.metrics.k8s.io, such as the requests per
	// second of an Ingress.
	// +optional
	Object *ObjectMetricSource `json:"object,omitempty"`

	// A metric of something outside of the cluster, from external.metrics.k8s.io, such as the
	// length of a queue.
	// +optional
	External *ExternalMetricSource `json:"external,omitempty"`

	// A metric of each of the pods, which Plimsoll reads from the pods themselves. The
	// values are averaged.
	// +optional
	PodEndpoint *PodEndpointMetricSource `json:"podEndpoint,omitempty"`

	// The result of a query that Plimsoll sends to Prometheus.
	// +optional
	Prometheus *PrometheusMetricSource `json:"prometheus,omitempty"`

	// A metric of a server with KEDA's protocol for external scalers.
	// +optional
	ExternalScaler *ExternalScalerMetricSource `json:"externalScaler,omitempty"`

	// A metric of one of KEDA's scalers, such as the length of a queue in Redis or RabbitMQ. It needs plimsoll-scalers.
	// +optional
	Scaler *ScalerMetricSource `json:"scaler,omitempty"`

	// The proposal of the metric while it cannot be read. Without it the metric proposes nothing, and the replica count is
	// not lowered in that time.
	// +optional
	Fallback *Fallback `json:"fallback,omitempty"`

	// The metric is active above this value: it keeps the last replica, and brings the first one back. The default is 0.
	// It may be set beside scaleToZero, where type is Object, External or Prometheus, or PodEndpoint with podSelector or
	// service. It is compared with the metric's total, also where the target is an average. The scaler of an
	// ExternalScaler or Scaler metric reports itself whether the metric is active.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`int(self) >= 0 || size(self) > 0`,message="must be greater than or equal to 0"
	ActivationValue *resource.Quantity `json:"activationValue,omitempty"`
}

// MetricSourceType is the source of a metric.
//
// +kubebuilder:validation:Enum=Resource;ContainerResource;Pods;Object;External;PodEndpoint;Prometheus;ExternalScaler;Scaler
type MetricSourceType string

// The sources of metrics.
const (
	ResourceMetricSourceType          MetricSourceType = "Resource"
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ObjectMetricSourceType            MetricSourceType = "Object"
	ExternalMetricSourceType          MetricSourceType = "External"
	PodEndpointMetricSourceType       MetricSourceType = "PodEndpoint"
	PrometheusMetricSourceType        MetricSourceType = "Prometheus"
	ExternalScalerMetricSourceType    MetricSourceType = "ExternalScaler"
	ScalerMetricSourceType            MetricSourceType = "Scaler"
)

// ResourceMetricSource is CPU, memory, or another resource of the pods.
type ResourceMetricSource struct {
	// The resource, such as cpu or memory.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name"`

	// The target: averageUtilization in percent of the pods' requests, or averageValue
	// for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Value'`,message="must be Utilization or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`
}

// ContainerResourceMetricSource is CPU, memory, or another resource of one container in
// each of the pods.
type ContainerResourceMetricSource struct {
	// The resource: cpu, memory, ephemeral-storage, hugepages of a size, or an extended
	// resource with its domain.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule=`self in ['cpu', 'memory', 'ephemeral-storage'] || self.matches('^hugepages-[A-Za-z0-9_.-]*[A-Za-z0-9]$') || (self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/([A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9]$') && !self.startsWith('requests.'))`,message="must be cpu, memory, ephemeral-storage, hugepages of a size, or an extended resource with its domain"
	Name string `json:"name"`

	// The target: averageUtilization in percent of the containers' requests, or
	// averageValue for each container.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Value'`,message="must be Utilization or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// The name of the container in the pods.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Container string `json:"container"`
}

// PodsMetricSource is a metric of each of the pods.
type PodsMetricSource struct {
	// The metric.
	Metric MetricIdentifier `json:"metric"`

	// The target: averageValue for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type == 'AverageValue'`,message="must be AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`
}

// ObjectMetricSource is a metric of one other object.
type ObjectMetricSource struct {
	// The object that the metric is about.
	DescribedObject CrossVersionObjectReference `json:"describedObject"`

	// The target: value in total, or averageValue for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`

	// The metric.
	Metric MetricIdentifier `json:"metric"`
}

// ExternalMetricSource is a metric of something outside of the cluster.
type ExternalMetricSource struct {
	// The metric.
	Metric MetricIdentifier `json:"metric"`

	// The target: value in total, or averageValue for each pod.
	// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization'`,message="must be Value or AverageValue",fieldPath=".type"
	Target MetricTarget `json:"target"`
}

// MetricIdentifier names a metric of a metrics API.
type MetricIdentifier struct {
	// The name of the metric.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`!(self in ['.', '..']) && !self.contains('/') && !self.contains('%')`,message="must not be '.' or '..', nor contain '/' or '%'"
	Name string `json:"name"`

	// The series of the metric, by their labels. Without it, or if it is empty, all series count.
	// +optional
	Selector *LabelSelector `json:"selector,omitempty"`
}

// MetricTarget is the target value of a metric. It has the value that its type names, and no other.
//
// +kubebuilder:validation:XValidation:rule=`self.type != 'Value' || has(self.value)`,message="must be set where type is Value",fieldPath=".value",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Value' || !has(self.value)`,message="may be set only where type is Value",fieldPath=".value",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'AverageValue' || has(self.averageValue)`,message="must be set where type is AverageValue",fieldPath=".averageValue",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'AverageValue' || !has(self.averageValue)`,message="may be set only where type is AverageValue",fieldPath=".averageValue",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule=`self.type != 'Utilization' || has(self.averageUtilization)`,message="must be set where type is Utilization",fieldPath=".averageUtilization",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`self.type == 'Utilization' || !has(self.averageUtilization)`,message="may be set only where type is Utilization",fieldPath=".averageUtilization",reason="FieldValueForbidden"
type MetricTarget struct {
	// Which of the values is the target: Value, AverageValue, or Utilization for
	// averageUtilization.
	Type MetricTargetType `json:"type"`

	// The target of the metric's total. It is required where type is Value, and may be set
	// only there.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self != 0 && (int(self) > 0 || size(self) > 0)`,message="must be positive"
	Value *resource.Quantity `json:"value,omitempty"`

	// The target of the average over the pods. It is required where type is AverageValue,
	// and may be set only there.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self != 0 && (int(self) > 0 || size(self) > 0)`,message="must be positive"
	AverageValue *resource.Quantity `json:"averageValue,omitempty"`

	// The target of the average over the pods, in percent of their requests. It is required where type is Utilization, and
	// may be set only there.
	// +optional
	// +kubebuilder:validation:Minimum=1
	AverageUtilization *int32 `json:"averageUtilization,omitempty"`
}

// MetricTargetType selects the value of a MetricTarget.
//
// +kubebuilder:validation:Enum=Utilization;Value;AverageValue
type MetricTargetType string

// The types of targets.
const (
	UtilizationMetricType  MetricTargetType = "Utilization"
	ValueMetricType        MetricTargetType = "Value"
	AverageValueMetricType MetricTargetType = "AverageValue"
)

// Fallback is the proposal of a metric while it cannot be read.
//
// +kubebuilder:validation:XValidation:rule=`has(self.replicas) || (has(self.policy) && self.policy == 'CurrentReplicas')`,message="must be set unless policy is CurrentReplicas",fieldPath=".replicas",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!has(self.replicas) || !has(self.policy) || self.policy != 'CurrentReplicas'`,message="may not be set where policy is CurrentReplicas",fieldPath=".replicas",reason="FieldValueForbidden"
type Fallback struct {
	// How long the metric must have failed before the fallback applies, in seconds. The
	// default is 180.
	// +optional
	// +kubebuilder:default=180
	// +kubebuilder:validation:Minimum=1
	FailureDurationSeconds *int32 `json:"failureDurationSeconds,omitempty"`

	// The replica count of the fallback, at most maxReplicas. Other metrics, behavior and
	// minReplicas apply as always. It is required unless policy is CurrentReplicas, where it
	// may not be set.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`

	// Static, the default, proposes replicas. CurrentReplicas proposes the current replica
	// count. CurrentReplicasIfHigher proposes the larger of the two, CurrentReplicasIfLower
	// the smaller.
	// +optional
	// +kubebuilder:default=Static
	Policy FallbackPolicy `json:"policy,omitempty"`
}

// FallbackPolicy is how a fallback proposes a replica count.
//
// +kubebuilder:validation:Enum=Static;CurrentReplicas;CurrentReplicasIfHigher;CurrentReplicasIfLower
type FallbackPolicy string

// How a fallback proposes a replica count.
const (
	// FallbackStatic proposes the fallback's replicas.
	FallbackStatic FallbackPolicy = "Static"
	// FallbackCurrentReplicas proposes the current replica count.
	FallbackCurrentReplicas FallbackPolicy = "CurrentReplicas"
	// FallbackCurrentReplicasIfHigher proposes the larger of the two.
	FallbackCurrentReplicasIfHigher FallbackPolicy = "CurrentReplicasIfHigher"
	// FallbackCurrentReplicasIfLower proposes the smaller of the two.
	FallbackCurrentReplicasIfLower FallbackPolicy = "CurrentReplicasIfLower"
)

// Target returns the target of the metric, whatever its type; nil if the scaler's own applies.
func (m *MetricSpec) Target() *MetricTarget {
	switch {
	case m.Resource != nil:
		return &m.Resource.Target
	case m.ContainerResource != nil:
		return &m.ContainerResource.Target
	case m.Pods != nil:
		return &m.Pods.Target
	case m.Object != nil:
		return &m.Object.Target
	case m.External != nil:
		return &m.External.Target
	case m.PodEndpoint != nil:
		return &m.PodEndpoint.Target
	case m.Prometheus != nil:
		return &m.Prometheus.Target
	case m.ExternalScaler != nil:
		return m.ExternalScaler.Target.whole()
	case m.Scaler != nil:
		return m.Scaler.Target.whole()
	default:
		return nil
	}
}
