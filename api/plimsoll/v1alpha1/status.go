package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadAutoscalerStatus is the last observation and decision.
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

	// The status in a few words, for people. kubectl get shows it. Programs should read the other fields.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// The metrics, in the order of spec.metrics: the value of each and the replica count
	// that it proposes, or why it has none.
	// +optional
	// +listType=map
	// +listMapKey=name
	Metrics []MetricStatus `json:"metrics,omitempty"`

	// The proposals of other sources than metrics in the last decision.
	// +optional
	// +listType=atomic
	Proposals []Proposal `json:"proposals,omitempty"`

	// The limit that kept the replica count from the largest proposal. It is absent if there was none.
	// +optional
	Limit *Limit `json:"limit,omitempty"`

	// The last decision in the form of KEP-6107. It is absent in mode Paused,
	// and while the target has zero replicas set by another client.
	// +optional
	LastScaleDecision *ScaleDecision `json:"lastScaleDecision,omitempty"`

	// The next change if the metrics stay the same. It is absent if there is none.
	// +optional
	Next *Next `json:"next,omitempty"`

	// The forecast, and its value on the last days. It is absent where its mode is Off.
	// +optional
	Forecast *ForecastStatus `json:"forecast,omitempty"`

	// The schedules in force, ramps included.
	// +optional
	// +listType=map
	// +listMapKey=name
	ActiveSchedules []ActiveSchedule `json:"activeSchedules,omitempty"`

	// The conditions of the autoscaler. Ready is True while it works as its mode demands, also in Preview and Paused.
	// Stalled is present, and True, while only an edit of the object helps. AbleToScale, ScalingActive, ScalingLimited and
	// ScaledToZero mean the same as on a HorizontalPodAutoscaler.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Summary is a status in a few words.
type Summary struct {
	// The origin of the replica count, or the reason why the autoscaler does not act.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The current value and the target of the first metrics, as kubectl get hpa shows them.
	// +optional
	Metrics string `json:"metrics,omitempty"`
}

// MetricStatus is the last value of a metric, with its proposal.
type MetricStatus struct {
	// The name of the metric, as in spec.metrics.
	Name string `json:"name"`

	// The type of the metric, as in spec.metrics.
	Type MetricSourceType `json:"type"`

	// The value, where the target is one for all pods together.
	// +optional
	Value *resource.Quantity `json:"value,omitempty"`

	// The value divided by the number of pods, where the target is an average.
	// +optional
	AverageValue *resource.Quantity `json:"averageValue,omitempty"`

	// The average use of the pods in percent of their requests, where the target is a utilization.
	// +optional
	AverageUtilization *int32 `json:"averageUtilization,omitempty"`

	// The replica count that the metric proposes. It is absent where it proposes none.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// The pods of the value. It is absent where the metric is not of pods.
	// +optional
	Samples *MetricSamples `json:"samples,omitempty"`

	// When the newest sample was taken, where that was more than five minutes before the
	// decision. It is absent while samples arrive.
	// +optional
	SampleTime *metav1.Time `json:"sampleTime,omitempty"`

	// The reason why there is no value. It is absent where there is one, and where the first is awaited.
	// +optional
	Failure *MetricFailure `json:"failure,omitempty"`
}

// MetricSamples counts the pods of a metric by their samples.
type MetricSamples struct {
	// The pods whose samples the value is the average of.
	Counted int32 `json:"counted"`

	// The pods without a sample.
	// +optional
	Missing int32 `json:"missing,omitempty"`

	// The pods that do not count because they are not ready.
	// +optional
	NotReady int32 `json:"notReady,omitempty"`

	// The pods that were not scraped, because a sample of the pods is enough.
	// +optional
	NotAsked int32 `json:"notAsked,omitempty"`
}

// MetricFailure is the reason why a metric has no value.
type MetricFailure struct {
	// The reason in one word, as in the condition ScalingActive: FailedGetResourceMetric.
	Reason string `json:"reason"`

	// The error.
	// +optional
	Message string `json:"message,omitempty"`
}

// Proposal is the replica count that a source other than a metric proposes.
type Proposal struct {
	// The source of the proposal: Surge, Schedule, Fallback or Forecast.
	Source ProposalSource `json:"source"`

	// The name of the metric or schedule.
	// +optional
	Name string `json:"name,omitempty"`

	// The proposed replica count.
	Replicas int32 `json:"replicas"`
}

// ProposalSource is the source of a proposed replica count. Clients must expect others than those of today.
type ProposalSource string

// The sources of proposed replica counts.
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
	Reason string `json:"reason"`

	// The limit in a sentence, with its numbers.
	// +optional
	Message string `json:"message,omitempty"`
}

// Next is the next change.
type Next struct {
	// When it changes.
	Time metav1.Time `json:"time"`

	// The change in one word, such as ScheduleStart.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The schedule or metric that changes it.
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
