// Package forecast proposes replicas before the load needs them, if the load of earlier days predicts it.
//
// It feeds the mean load of each minute to a model with a season of a day. The highest load that the model expects
// until a new pod would be ready becomes a replica count, which can only raise the count that metrics ask for. A
// playback of each minute shows what the forecast would have avoided and wasted, and thereby decides which part of the
// expected load is proposed, and whether the forecast is used at all.
package forecast

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

// Mode says what a forecast may do.
type Mode uint8

// The modes.
const (
	// Off: the forecast neither learns nor shows anything.
	Off Mode = iota
	// Preview: the forecast is computed and shown, and raises nothing.
	Preview
	// Active: the forecast raises the replica count.
	Active
)

// String returns the mode as the spec has it.
func (m Mode) String() string { return [...]string{"Off", "Preview", "Active"}[m] }

// Settings are the object's settings.
type Settings struct {
	Mode Mode
	// WasteLimitPercent bounds the unneeded pod-minutes that the forecast may add, in percent of the pod-minutes without
	// it.
	WasteLimitPercent float64
	// Identity is a hash of the target and the metrics, without the values of their targets. If it changes, the learnt
	// load was another one. 0 matches any.
	Identity uint64
	// Down has the rules of scaling down, by which the playback removes pods; nil means the default ones.
	Down *behavior.Rules
	// Price is the number of wasted pod-minutes that one avoided minute of one missing pod is worth.
	Price float64
}

// The defaults of Settings.
const (
	DefaultWasteLimitPercent = 5
	DefaultPrice             = 10
)

// Load is the load at a moment.
type Load struct {
	// Pods is how many pods carry it at the metric's target: the metric's total divided by the target of a pod.
	Pods float64
	// PerPodMilli is the metric's target of one pod, in thousandths of its unit. When it changes, the learnt model is
	// scaled accordingly. It is 0 if it is not known.
	PerPodMilli float64
	// Full is the load that a pod can carry, as a multiple of its target; 0 if that is unknown.
	Full float64
	// IsKnown is false if a metric could not be read. Then the other fields are meaningless.
	IsKnown bool
	// IsCapped is set if the pods used all that they can: the real load may be larger.
	IsCapped bool
}

// Input is one observation.
type Input struct {
	Now                      time.Time
	Load                     Load
	MinReplicas, MaxReplicas int32
	// StartUp is how long new pods take from their creation until they are ready; 0 if it is not known.
	StartUp time.Duration
	// Tolerance is the metrics' tolerance, as a part of the target.
	Tolerance float64
}

// Reason says why a forecast proposes replicas, or why not.
type Reason uint8

// The reasons.
const (
	// ReasonOff: the mode is Off.
	ReasonOff Reason = iota
	// ReasonLearning: it has not observed the load for long enough.
	ReasonLearning
	// ReasonLoadUnknown: the load is not known at present.
	ReasonLoadUnknown
	// ReasonNotWorthItsPrice: in the playback it avoids too little for its waste.
	ReasonNotWorthItsPrice
	// ReasonAboveWasteLimit: in the playback it is worth its price, but wastes more than the limit.
	ReasonAboveWasteLimit
	// ReasonInUse: it is worth its price.
	ReasonInUse
)

// String returns the reason in status and in explanations.
func (r Reason) String() string {
	return [...]string{"Off", "Learning", "LoadUnknown", "NotWorthItsPrice", "AboveWasteLimit", "InUse"}[r]
}

// Result is the forecast at a moment, and its value in the playback.
type Result struct {
	Reason Reason
	// Replicas is the count that it proposes, whatever the mode; 0 unless Reason is ReasonInUse.
	Replicas int32
	// Expected is the most load that is expected until Horizon from now, in pods at the target, with the margin for
	// errors that is in use. It is 0 while it learns.
	Expected float64
	Horizon  time.Duration
	// Scale is the part of Expected that is proposed, and StartUp the assumed time to readiness.
	Scale   float64
	StartUp time.Duration
	// LearntFor is the time for which it has observed the load, and Needed the time that it has to.
	LearntFor, Needed time.Duration
	// Day is its value.
	Day Day
}

// Day is the effect of the forecast in a day, by the playback: a mean over the days so far, with a half-life of three
// days.
type Day struct {
	// LackingPodMinutes counts the pod-minutes in which pods were lacking without the forecast, and AvoidedPodMinutes how
	// many of these the forecast avoids.
	LackingPodMinutes, AvoidedPodMinutes float64
	// WastedPodMinutes counts the pod-minutes that it adds without need. PodMinutes counts all without it.
	WastedPodMinutes, PodMinutes float64
}
