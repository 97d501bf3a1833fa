package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadAutoscalerStatus is what was last observed and decided.
type WorkloadAutoscalerStatus struct {
	// The generation of the object at the last decision. It is -1 until the first decision, so
	// that clients that wait for the object do not consider it decided.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// When the replica count was last changed by the autoscaler.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`

	// The target's replica count when it was last decided on.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// The replica count that was last decided. In Preview and Paused it is what the
	// autoscaler would have set.
	// +optional
	DesiredReplicas int32 `json:"desiredReplicas"`

	// The fewest replicas now: spec.minReplicas, or more while a schedule is in force.
	// +optional
	EffectiveMinReplicas *int32 `json:"effectiveMinReplicas,omitempty"`

	// The most replicas now: spec.maxReplicas, or fewer while a schedule is in force.
	// +optional
	EffectiveMaxReplicas *int32 `json:"effectiveMaxReplicas,omitempty"`

	// The status in a few words, for people. kubectl get shows it. Programs read the other
	// fields.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// The metrics, in the order of spec.metrics: the value of each and the replica count
	// that it proposes, or why it has none.
	// +optional
	// +listType=map
	// +listMapKey=name
	Metrics []MetricStatus `json:"metrics,omitempty"`

	// What other than a metric proposed a replica count to the last decision.
	// +optional
	// +listType=atomic
	Proposals []Proposal `json:"proposals,omitempty"`

	// The limit that kept the replica count from the largest proposal. It is absent if there
	// was none.
	// +optional
	Limit *Limit `json:"limit,omitempty"`

	// The last decision in the form of KEP-6107. It is absent in mode Paused,
	// and while the target has zero replicas set by another client.
	// +optional
	LastScaleDecision *ScaleDecision `json:"lastScaleDecision,omitempty"`

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

	// What holds for the autoscaler. Ready is True while it does what its mode says, also
	// in Preview and Paused. Stalled is there, and True, while only an edit of the object
	// helps. AbleToScale, ScalingActive, ScalingLimited and ScaledToZero mean what they
	// mean on a HorizontalPodAutoscaler.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Summary is a status in a few words.
type Summary struct {
	// What the replica count follows from, or why the autoscaler does not act.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The current value and the target of the first metrics, as kubectl get hpa shows them.
	// +optional
	Metrics string `json:"metrics,omitempty"`
}

// MetricStatus is the last value of a metric, and what follows from it.
type MetricStatus struct {
	// The name of the metric, as spec.metrics has it.
	Name string `json:"name"`

	// The type of the metric, as in spec.metrics.
	Type MetricSourceType `json:"type"`

	// The value, where the target is one for all pods together.
	// +optional
	Value *resource.Quantity `json:"value,omitempty"`

	// The value divided by the number of pods, where the target is an average.
	// +optional
	AverageValue *resource.Quantity `json:"averageValue,omitempty"`

	// The average use of the pods in percent of what they request, where the target is a
	// utilization.
	// +optional
	AverageUtilization *int32 `json:"averageUtilization,omitempty"`

	// The replica count that the metric proposes. It is absent where it proposes none.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// How many pods the value is of. It is absent where the metric is not of pods.
	// +optional
	Samples *MetricSamples `json:"samples,omitempty"`

	// When the newest sample was taken, where that was more than five minutes before the
	// decision. It is absent while samples arrive.
	// +optional
	SampleTime *metav1.Time `json:"sampleTime,omitempty"`

	// Why there is no value. It is absent where there is one, and where the first is awaited.
	// +optional
	Failure *MetricFailure `json:"failure,omitempty"`
}

// MetricSamples are how the pods count for a metric.
type MetricSamples struct {
	// The pods whose samples the value is the average of.
	Counted int32 `json:"counted"`

	// The pods without a sample.
	// +optional
	Missing int32 `json:"missing,omitempty"`

	// The pods that do not count because they are not ready.
	// +optional
	NotReady int32 `json:"notReady,omitempty"`

	// The pods that were not asked, because a sample of the pods is enough.
	// +optional
	NotAsked int32 `json:"notAsked,omitempty"`
}

// MetricFailure is why a metric has no value.
type MetricFailure struct {
	// The reason in one word, as the condition ScalingActive has it: FailedGetResourceMetric.
	Reason string `json:"reason"`

	// The error.
	// +optional
	Message string `json:"message,omitempty"`
}

// Proposal is the replica count that a source other than a metric proposes.
type Proposal struct {
	// What proposes: Surge, Schedule, Fallback or Forecast.
	Source ProposalSource `json:"source"`

	// The name of the metric or schedule.
	// +optional
	Name string `json:"name,omitempty"`

	// The proposed replica count.
	Replicas int32 `json:"replicas"`
}

// ProposalSource is what proposes a replica count.
//
// +kubebuilder:validation:Enum=Surge;Schedule;Fallback;Forecast
type ProposalSource string

// What proposes a replica count.
const (
	// ProposalSourceSurge is the surge window over a metric: the last few seconds.
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
	// The limit in one word, such as MaxReplicas.
	Name string `json:"name"`

	// The limit in a sentence, with its numbers.
	// +optional
	Message string `json:"message,omitempty"`
}

// Next is what changes next.
type Next struct {
	// When it changes.
	Time metav1.Time `json:"time"`

	// What changes, in one word, such as ScheduleStart.
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
