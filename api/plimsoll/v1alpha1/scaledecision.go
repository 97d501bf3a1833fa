package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScaleDecision is a decision as KEP-6107 proposes it for the status of a HorizontalPodAutoscaler: its fields and words
// are the KEP's, so that tools for the one read the other.
type ScaleDecision struct {
	// When the decision was first made. Later decisions of the same generation with the same counts, metrics, reasons and
	// constraints do not change it.
	Time metav1.Time `json:"time"`

	// The generation of the object that was decided on.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// The replica count before the decision.
	CurrentReplicas int32 `json:"currentReplicas"`

	// The largest count that a metric recommended, before any constraint. It is absent where
	// none could be computed.
	// +optional
	RecommendedReplicas *int32 `json:"recommendedReplicas,omitempty"`

	// The replica count that was decided.
	DesiredReplicas int32 `json:"desiredReplicas"`

	// The origin of desiredReplicas: the recommendation itself (MetricRecommendation, WithinTolerance), a constraint
	// (Stabilized, PolicyLimited, ReplicaLimit), or an error (InvalidMetrics, RecommendationFailed).
	Reason ScaleDecisionReason `json:"reason"`

	// The result of each metric. Metrics without a first value are left out.
	// +optional
	// +listType=atomic
	Metrics []ScaleDecisionMetric `json:"metrics,omitempty"`

	// The constraints on the recommendation: MinReplicas, MaxReplicas, Stabilization, Tolerance, ScalingPolicy or
	// InvalidMetricGuard.
	// +optional
	// +listType=atomic
	Constraints []ScaleDecisionConstraint `json:"constraints,omitempty"`
}

// ScaleDecisionReason is the origin of the count of a decision. Clients must expect others than those of today.
type ScaleDecisionReason string

// ScaleDecisionConstraint is a constraint on the recommendation. Clients must expect others than those of today.
type ScaleDecisionConstraint string

// ScaleDecisionMetric is the result of a metric in a decision.
type ScaleDecisionMetric struct {
	// The index of the metric in spec.metrics, from 0.
	MetricIndex int32 `json:"metricIndex"`

	// The replica count that the metric proposes. It is absent where it could not be
	// computed.
	// +optional
	ProposedReplicas *int32 `json:"proposedReplicas,omitempty"`

	// Used: the count follows from this metric. Valid: it could be computed. Invalid: it
	// could not.
	Status string `json:"status"`

	// The reason: Computed, FetchFailed, InvalidMetricValue, NoMatchingPods, or SkippedScaleDown if it proposes fewer
	// replicas and another metric is Invalid.
	Reason string `json:"reason"`
}
