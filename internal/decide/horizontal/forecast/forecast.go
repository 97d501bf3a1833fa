// Package forecast proposes replicas before the load needs them, where the load of earlier days says when that is.
//
// The mean load of each minute goes into a model with a season of a day. The most that the model expects until a new
// pod would be ready becomes a replica count, which can only raise the count that metrics ask for. How much of it is
// asked for, and whether it is used at all, follows from playing each minute back: what it would have avoided and
// wasted.
package forecast

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

// Mode is what a forecast does.
type Mode uint8

// The modes.
const (
	// Off: nothing is learnt and nothing is shown.
	Off Mode = iota
	// Preview: the forecast is computed and shown, and raises nothing.
	Preview
	// Active: the forecast raises the replica count.
	Active
)

// String returns the mode as the spec has it.
func (m Mode) String() string { return [...]string{"Off", "Preview", "Active"}[m] }

// Settings are what the owner of the object asks for.
type Settings struct {
	Mode Mode
	// WasteLimitPercent is how many pod-minutes without need the forecast may add, in percent of those there are.
	WasteLimitPercent float64
	// Identity tells what the load is of: the target, and the metrics without their targets' values. Where it changes,
	// what was learnt is of something else. 0 is any.
	Identity uint64
	// Down are the rules of scaling down, by which the playback gives pods back; nil are the default ones.
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
	// PerPodMilli is the metric's target of one pod, in thousandths of its unit. When it changes, what was learnt is
	// scaled along. It is 0 if it is not known.
	PerPodMilli float64
	// Full is how many times its target a pod can carry. It is 0 if that is not known.
	Full float64
	// IsKnown is false where a metric could not be read. The rest then means nothing.
	IsKnown bool
	// IsCapped is set if the pods used all that they can: the load may be larger.
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

// Reason is why a forecast proposes replicas, or why not.
type Reason uint8

// The reasons.
const (
	// ReasonOff: the mode is Off.
	ReasonOff Reason = iota
	// ReasonLearning: it has seen too little.
	ReasonLearning
	// ReasonLoadUnknown: the load is not known at present.
	ReasonLoadUnknown
	// ReasonNotWorthItsPrice: played back, it avoids too little for what it wastes.
	ReasonNotWorthItsPrice
	// ReasonAboveWasteLimit: played back, it would be worth its price, but wastes more than the limit.
	ReasonAboveWasteLimit
	// ReasonInUse: it is worth its price.
	ReasonInUse
)

// String returns the reason in status and in explanations.
func (r Reason) String() string {
	return [...]string{"Off", "Learning", "LoadUnknown", "NotWorthItsPrice", "AboveWasteLimit", "InUse"}[r]
}

// Result is the forecast at a moment, and what it has been worth.
type Result struct {
	Reason Reason
	// Replicas is the count that it proposes, whatever the mode; 0 unless Reason is ReasonInUse.
	Replicas int32
	// Expected is the most load that is expected until Horizon from now, in pods at the target, with the margin for
	// errors that is in use. It is 0 while it learns.
	Expected float64
	Horizon  time.Duration
	// Scale is the part of Expected that is asked for, and StartUp the time to readiness that it reckons with.
	Scale   float64
	StartUp time.Duration
	// LearntFor is for how long it has seen the load, and Needed for how long it has to.
	LearntFor, Needed time.Duration
	// Day is what it is worth.
	Day Day
}

// Day is what the forecast does in a day, played back; the mean of the days so far, in which those of three days ago
// count half.
type Day struct {
	// LackingPodMinutes are those in which a pod was lacking without the forecast, and AvoidedPodMinutes how many fewer
	// there are with it.
	LackingPodMinutes, AvoidedPodMinutes float64
	// WastedPodMinutes are those that it adds without need. PodMinutes are all that there are without it.
	WastedPodMinutes, PodMinutes float64
}
