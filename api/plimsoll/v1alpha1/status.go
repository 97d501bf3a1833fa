package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadAutoscalerStatus is what was last observed and decided.
type WorkloadAutoscalerStatus struct {
	// The generation of the object that was last decided on.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// When the replica count was last changed by the autoscaler.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`

	// The target's replica count when it was last decided on.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas,omitempty"`

	// The replica count that was last decided. In Preview and Paused it is what the
	// autoscaler would have set.
	// +optional
	DesiredReplicas int32 `json:"desiredReplicas"`

	// What desiredReplicas follows from, in a few words: a metric, a schedule, a limit.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Each metric's current value and target, as kubectl get hpa shows them.
	// +optional
	Metrics string `json:"metrics,omitempty"`

	// The fewest replicas now: minReplicas, or more while a schedule is in force.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// The most replicas now: maxReplicas, or fewer while a schedule is in force.
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// The metrics' current values, in the order of spec.metrics. The entry of a metric
	// that cannot be read is empty.
	// +optional
	// +listType=atomic
	CurrentMetrics []autoscalingv2.MetricStatus `json:"currentMetrics,omitempty"`

	// The replica counts that the last decision chose from.
	// +optional
	// +listType=atomic
	Proposals []Proposal `json:"proposals,omitempty"`

	// What kept the replica count from the largest proposal. It is absent where nothing
	// did.
	// +optional
	Limit *Limit `json:"limit,omitempty"`

	// What changes next if the metrics stay as they are. It is absent where nothing does.
	// +optional
	Next *Next `json:"next,omitempty"`

	// The forecast, and what it has been worth. It is absent where its mode is Off.
	// +optional
	Forecast *ForecastStatus `json:"forecast,omitempty"`

	// The schedules in force, ramps included.
	// +optional
	// +listType=map
	// +listMapKey=name
	ActiveSchedules []ActiveSchedule `json:"activeSchedules,omitempty"`

	// What holds for the autoscaler. AbleToScale, ScalingActive, ScalingLimited and
	// ScaledToZero mean what they mean on a HorizontalPodAutoscaler.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Proposal is the replica count that one source proposes.
type Proposal struct {
	// What proposes: Metric, Surge, Schedule, Fallback or Forecast.
	Source ProposalSource `json:"source"`

	// The name of the metric or schedule.
	// +optional
	Name string `json:"name,omitempty"`

	// The proposed replica count. It is absent where none could be computed.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// When the newest value behind it was measured, if that is known.
	// +optional
	SampleTime *metav1.Time `json:"sampleTime,omitempty"`

	// Why no count could be computed, why the fallback holds, or how many pods were sampled.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProposalSource is what proposes a replica count.
//
// +kubebuilder:validation:Enum=Metric;Surge;Schedule;Fallback;Forecast
type ProposalSource string

// What proposes a replica count.
const (
	// ProposalSourceMetric is a metric of the spec.
	ProposalSourceMetric ProposalSource = "Metric"
	// ProposalSourceSurge is the surge window over one of them: the last few seconds.
	ProposalSourceSurge ProposalSource = "Surge"
	// ProposalSourceSchedule is a schedule in force.
	ProposalSourceSchedule ProposalSource = "Schedule"
	// ProposalSourceFallback is the fallback of a metric that cannot be read.
	ProposalSourceFallback ProposalSource = "Fallback"
	// ProposalSourceForecast is the forecast: the load of earlier days.
	ProposalSourceForecast ProposalSource = "Forecast"
)

// Limit is what kept the replica count from the largest proposal.
type Limit struct {
	// The limit in one word, as MaxReplicas.
	Name string `json:"name"`

	// The limit in a sentence, with its numbers.
	// +optional
	Message string `json:"message,omitempty"`
}

// Next is what changes next.
type Next struct {
	// When it changes.
	Time metav1.Time `json:"time"`

	// What changes, in one word, as ScheduleStart.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The replica count from then on, if it is known.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// What changes, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// ActiveSchedule is a schedule in force.
type ActiveSchedule struct {
	// The name of the schedule.
	Name string `json:"name"`

	// When it ends. It is absent if it starts again before each end.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}
