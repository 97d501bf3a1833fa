package oracle

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Situation is all that a controller can see at one step.
type Situation struct {
	// At is how long after the start the step is decided.
	At time.Duration
	// Note says what the generator had in mind.
	Note string
	// Restart says that the controller is restarted before the step.
	Restart bool
	// Recreate says that the object was deleted and made again before the step.
	Recreate bool
	// Spec is the object's.
	Spec autoscalingv2.HorizontalPodAutoscalerSpec
	// Rival is a second object on the same target: it exists from the step on, or
	// no longer.
	Rival bool

	// Lengthened says that the object's windows have become longer: upstream may
	// still have recommendations from before, or not.
	Lengthened bool
	// Wild says that the timeline has hostile numbers.
	Wild bool

	// StatusError fails every write of status.
	StatusError string

	Scale   Scale
	Pods    []*corev1.Pod
	Answers Answers
}

// Scale is the target's count and what happens to reads and writes of it.
type Scale struct {
	// Kind is Deployment, which Plimsoll reads from a cache, or
	// ReplicationController, which it asks the API for.
	Kind     string
	Spec     int32
	Status   int32
	Selector string
	// GetError fails the reading of a ReplicationController's scale.
	GetError string
	// WriteError fails every write. Conflicts is how many writes meet a conflict
	// first.
	WriteError string
	Conflicts  int
}

// Answers are what the metrics APIs say, custom and external by metric name.
type Answers struct {
	Resource      *metricsv1beta1.PodMetricsList
	ResourceError string
	Custom        map[string]*custommetricsv1beta2.MetricValueList
	External      map[string]*externalmetricsv1beta1.ExternalMetricValueList
	// Errors are the failures of custom and external metrics.
	Errors map[string]string
}

// Result is what a controller did in one step.
type Result struct {
	// Writes are the attempts to write the scale.
	Writes []string
	Status autoscalingv2.HorizontalPodAutoscalerStatus
	Events []string
	// Series are the controller's own metrics, counters as what the step added.
	Series []string
	// Rival is the second object's status.
	Rival *autoscalingv2.HorizontalPodAutoscalerStatus
}
