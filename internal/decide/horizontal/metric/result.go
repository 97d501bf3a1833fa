package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Context is what all metrics of one decision share.
type Context struct {
	Now time.Time
	// SpecReplicas and StatusReplicas are the scale's wanted and counted pods.
	SpecReplicas, StatusReplicas int32
	Pods                         []Pod
	Tolerance                    Tolerance
	// Namespace is the object's, for messages.
	Namespace string
	// CPUInitializationPeriod and InitialReadinessDelay are the two start-up
	// delays of CPU samples, flags of kube-controller-manager.
	CPUInitializationPeriod, InitialReadinessDelay time.Duration
	Divergences                                    divergence.Set
	// Ready are the numbers of ready pods lately.
	Ready history.Ready
	// IsBetween says that the decision is made between two sync periods.
	IsBetween bool
	// RaisedAt is when the count was last raised; zero if it was lowered since then, or that is not known.
	RaisedAt time.Time
	// Unreached is the count that was asked for and that a rate has not let the count reach yet; 0 if there is none.
	Unreached int32
	// Room is kept for the next decision.
	Room []use
}

func (c *Context) arithmetic() arithmetic.Mode {
	return arithmetic.Mode(c.Divergences.Has(divergence.Saturate))
}

// isAfterRise reports whether the count was raised while pods that are new now may have been starting, and the decision
// is between two sync periods.
func (c *Context) isAfterRise() bool {
	return c.IsBetween && !c.RaisedAt.IsZero() && c.Now.Sub(c.RaisedAt) < podWarm
}

// mayRiseFurther reports whether a rate has not let the count rise yet to what was asked for.
func (c *Context) mayRiseFurther() bool { return c.Unreached > c.SpecReplicas }

// past is a time by the controller's clock. A sample of the future was taken at the latest now: its node's clock is
// ahead.
func (c *Context) past(at time.Time) time.Time {
	if at.After(c.Now) {
		return c.Now
	}
	return at
}

// Tolerance is how far from 1 the ratio of value to target may be without a
// proposal for change.
type Tolerance struct {
	Up, Down float64
}

// Within reports whether ratio is inside of the tolerance, both ends included.
// NaN is outside.
func (t Tolerance) Within(ratio float64) bool {
	return 1-t.Down <= ratio && ratio <= 1+t.Up
}

// Result is what one metric asks for, with the numbers that led there.
type Result struct {
	// Failure is nil where the metric could be computed.
	Failure *source.Failure
	// Replicas is the wanted count.
	Replicas int32
	// Percent is the utilization; for a Utilization target.
	Percent int32
	// Milli is the value that status shows: the average or, for a Value target,
	// the value itself. It is the original one, before missing and unready pods
	// were filled in.
	Milli int64
	// At is when the newest sample that counts was taken, Oldest when the oldest was;
	// zero if none says.
	At, Oldest time.Time
	// Began is when the first of the windows began that the samples which count are of.
	Began time.Time
	// StartMilli is what is left out of the use of pods that have just become ready, as
	// their start.
	StartMilli int64
	// SharedMilli is what is left out of the use of pods from when others were not ready yet, which have a part of it now.
	// MovedMilli is what may be in two samples and is left out as well, or below 0 what may be in none and is added.
	SharedMilli, MovedMilli int64
	// Newest is how many pods count that have been ready for less than a whole window.
	Newest int64
	// Asked is when the reading was requested; zero if it was not.
	Asked time.Time
	// Total is the value of a metric that is not per pod, for the whole target.
	Total int64
	// TargetMilli is the target's value where the spec leaves it to the reading; 0 elsewhere.
	TargetMilli int64
	// Activity is the reading's, also of a metric that failed or has no values yet.
	Activity Activity
	// Pending says that the metric has no values yet, or none but of pods whose start they may be, and asks for nothing.
	Pending bool

	// Ratio is value/target as first observed; Adjusted the one after filling
	// in missing and unready pods (equal to Ratio where nothing was filled in).
	Ratio, Adjusted float64
	// Base is the number of replicas that the ratio was multiplied by; 0 where
	// Replicas does not come from a multiplication.
	Base int64
	// Verdict says which way led to Replicas.
	Verdict Verdict
	// Groups says how each pod counted; nil for metrics that do not use pods'
	// samples.
	Groups []Group
	// Counts are the sizes of the groups. NoContainer is how many of their pods do not have the container that the metric
	// names, whichever their group; without those that are ignored.
	Counts      Counts
	NoContainer int
}

// Evaluate computes what the metric asks for, into a result of which it keeps
// nothing but the room of its groups.
func Evaluate(spec *source.Spec, reading *Reading, c *Context, r *Result) {
	room := r.Groups[:0]
	*r = Result{Asked: reading.Asked, Pending: reading.Pending, Activity: reading.Activity}
	if reading.Pending {
		return
	}
	if text := compute(spec, reading, c, room, r); text != "" {
		*r = Result{
			Failure: spec.Fail(text), Groups: r.Groups, Counts: r.Counts, NoContainer: r.NoContainer, Activity: r.Activity,
		}
	}
}

// compute returns a text where the metric fails: the error of the calculation,
// without the prefix of the metric's type.
func compute(spec *source.Spec, reading *Reading, c *Context, room []Group, r *Result) string {
	if text := sourceError(spec, reading, c); text != "" {
		return text
	}
	if !spec.Type.IsPerPod() {
		return fromTotal(spec, reading, c, r)
	}
	p := perPod{
		spec: spec, reading: reading, c: c, result: r,
		sum: c.arithmetic(), percent: spec.Target.Type == source.Utilization,
	}
	return p.compute(room)
}
