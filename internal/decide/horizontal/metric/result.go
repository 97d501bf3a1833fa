package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Context has the inputs that all metrics of one decision share.
type Context struct {
	Now time.Time
	// SpecReplicas and StatusReplicas are the scale's desired and observed pods.
	SpecReplicas, StatusReplicas int32
	Pods                         []Pod
	Tolerance                    Tolerance
	// Namespace is the object's, for messages.
	Namespace string
	// CPUInitializationPeriod and InitialReadinessDelay are the two start-up
	// delays of CPU samples, flags of kube-controller-manager.
	CPUInitializationPeriod, InitialReadinessDelay time.Duration
	Divergences                                    divergence.Set
	// Ready has the recent numbers of ready pods.
	Ready history.Ready
	// IsBetween is set if the decision is made between two sync periods.
	IsBetween bool
	// RaisedAt is when the count was last raised; zero if it was lowered since then, or if that is unknown.
	RaisedAt time.Time
	// Unreached is an earlier proposal that a rate has not permitted yet; 0 if there is none.
	Unreached int32
	// Room is a buffer for the next decision.
	Room []use
}

func (c *Context) arithmetic() arithmetic.Mode {
	return arithmetic.Mode(c.Divergences.Has(divergence.Saturate))
}

// isAfterRise reports whether the decision is between two sync periods, and the count was raised while pods that are
// new now may have been starting.
func (c *Context) isAfterRise() bool {
	return c.IsBetween && !c.RaisedAt.IsZero() && c.Now.Sub(c.RaisedAt) < podWarm
}

// mayRiseFurther reports whether a rate has not permitted an earlier proposal yet.
func (c *Context) mayRiseFurther() bool { return c.Unreached > c.SpecReplicas }

// past returns a time no later than the decision. A sample from the future comes from a node whose clock is ahead; it
// was taken now at the latest.
func (c *Context) past(at time.Time) time.Time {
	if at.After(c.Now) {
		return c.Now
	}
	return at
}

// Tolerance is the largest deviation of the ratio of value to target from 1 that causes no change.
type Tolerance struct {
	Up, Down float64
}

// Within reports whether the ratio is within the tolerance, both ends included. NaN is not.
func (t Tolerance) Within(ratio float64) bool {
	return 1-t.Down <= ratio && ratio <= 1+t.Up
}

// Result is the proposal of one metric, with the numbers that led to it.
type Result struct {
	// Failure is nil if the metric could be computed.
	Failure *source.Failure
	// Replicas is the wanted count.
	Replicas int32
	// Percent is the utilization; for a Utilization target.
	Percent int32
	// Milli is the value in the status: the average or, for a Value target, the value itself, before assumptions for
	// missing and unready pods were added.
	Milli int64
	// At is the time of the newest sample that counts, Oldest that of the oldest; zero if samples have no times.
	At, Oldest time.Time
	// Began is the start of the earliest window of the samples that count.
	Began time.Time
	// StartMilli is the part of the use of pods that have just become ready that does not count, as their start.
	StartMilli int64
	// SharedMilli is the use from before other pods were ready, whose share it is now; it does not count. MovedMilli is
	// the use that may be in two samples and does not count either, or, below 0, the use that may be in none and is added.
	SharedMilli, MovedMilli int64
	// Newest is the number of pods that count and have been ready for less than a whole window.
	Newest int64
	// Asked is when the reading was requested; zero if it was not.
	Asked time.Time
	// Total is the value of a metric that is not per pod, for the whole target.
	Total int64
	// TargetMilli is the target's value if the reading has it; 0 otherwise.
	TargetMilli int64
	// Activity is that of the reading, also if the metric failed or has no values yet.
	Activity Activity
	// Pending is set if the metric proposes nothing because it has no values yet, or only values that may show the start
	// of pods.
	Pending bool
	// IsStart is set if the values may include the startup of the pods, because all have become ready recently.
	IsStart bool

	// Ratio is value/target as observed; Adjusted is the ratio with the assumptions for missing and unready pods (equal to
	// Ratio without any).
	Ratio, Adjusted float64
	// Base is the number of replicas that the ratio multiplied; 0 if Replicas is not a product.
	Base int64
	// Verdict says how Replicas was computed.
	Verdict Verdict
	// Groups says how each pod counted; nil for metrics that do not use pods'
	// samples.
	Groups []Group
	// Counts are the sizes of the groups. NoContainer is how many of the pods that are Missing or Lacking do not have the
	// container that the metric names.
	Counts      Counts
	NoContainer int
	// Least is the count that the known part of the values asks for, if the metric failed because the rest is not known.
	Least int32
	// Extraneous is how many of the values that count are of pods that are not known.
	Extraneous int
}

// Evaluate computes the proposal of a metric into r, of which it only reuses the buffer of Groups.
func Evaluate(spec *source.Spec, reading *Reading, c *Context, r *Result) {
	room := r.Groups[:0]
	*r = Result{Asked: reading.Asked, Pending: reading.Pending, Activity: reading.Activity}
	if reading.Pending {
		return
	}
	if text := compute(spec, reading, c, room, r); text != "" {
		*r = Result{
			Failure: spec.Fail(text), Groups: r.Groups, Counts: r.Counts, NoContainer: r.NoContainer, Least: r.Least,
			Activity: r.Activity,
		}
	}
}

// compute returns the error of the calculation if the metric fails, without the prefix of the metric's type.
func compute(spec *source.Spec, reading *Reading, c *Context, room []Group, r *Result) string {
	if text := sourceError(spec, reading, c); text != "" {
		return text
	}
	if !spec.IsPerPod() {
		return fromTotal(spec, reading, c, r)
	}
	p := perPod{
		spec: spec, reading: reading, c: c, result: r,
		sum: c.arithmetic(), percent: spec.Target.Type == source.Utilization,
	}
	return p.compute(room)
}
