// Package projection computes the replica counts after a decision if the load stays as it is, and how early the count
// could fall if the load ended.
//
// It repeats the decision's proposal at every sync period, through the same stabilization windows and rate policies,
// together with the forecast's. It assumes that no other source proposes a count meanwhile.
package projection

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// maxDecisions bounds the work: a day of decisions every 15 s is 5,760.
const maxDecisions = 6000

// maxSteps bounds the result.
const maxSteps = 100

// Step is a future replica count.
type Step struct {
	At       time.Time
	Replicas int32
	// Stabilized and Limited are the limits that determined this count.
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
	// DelayedBy has the limits that delayed it; nil for the first step.
	DelayedBy *Limits
}

// Limits are the limits of one decision.
type Limits struct {
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
}

// Projection has the expected changes after a decision.
type Projection struct {
	// Steps are the changes after the decision; none if the count stays.
	Steps []Step
	// Settled is set if the count stays after the steps, as long as the proposal does.
	Settled bool
	// Lower is the earliest decrease of the count if no replicas are proposed from now on. The first decision after its At
	// makes it. It is nil if the count cannot fall, or if HeldUpBy keeps it whatever the load is. It follows from the
	// state, and does not depend on when decisions are made.
	Lower *Step
}

// Project returns the projection of a decision that metrics made. The state is the settled one after it; it is only
// read. every is the sync period.
func Project(p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision, every time.Duration) Projection {
	var o Projection
	if d.Branch != horizontal.BranchMetrics {
		return o
	}
	up := newWalk(p, s, d, every)
	up.mayLower, up.ahead = d.Proposed.MayLower, d.ForecastReplicas
	o.Steps, o.Settled = up.play(d.Proposed.Replicas, maxSteps)
	if by, _ := HeldUpBy(d); by == proposal.None {
		o.Lower = newWalk(p, s, d, 0).lower()
	}
	return o
}

// HeldUpBy returns what keeps the count from falling however low the load is, with its metric's index: a Metric that
// cannot be read, has no value yet or multiplies its value with ready pods where there are none, a Fallback that asks
// for as many replicas, or the Forecast; None if nothing does.
func HeldUpBy(d *horizontal.Decision) (by proposal.Source, index int) {
	for i := range d.Metrics {
		isWithoutPods := d.Current == 0 && !d.Policy.Metrics[i].HasValueWithoutPods()
		r := &d.Metrics[i]
		isUnread := (r.Failure != nil || r.Pending) && !fallback.IsActive(d.Fallbacks.Active, i)
		if isUnread && !isWithoutPods || r.Verdict == metric.NothingReady {
			return proposal.Metric, i
		}
	}
	for _, f := range d.Fallbacks.Active {
		if f.Replicas >= d.Desired {
			return proposal.Fallback, f.Metric
		}
	}
	if ForecastAsks(d) >= max(1, d.Desired) {
		return proposal.Forecast, 0
	}
	return proposal.None, 0
}

// walk repeats a constant proposal.
type walk struct {
	limits   behavior.Limits
	state    horizontal.State
	now      time.Time
	every    time.Duration
	current  int32
	mayLower bool
	// ahead is the count that the forecast asks for.
	ahead int32
}

func newWalk(p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision, every time.Duration) *walk {
	return &walk{
		limits: p.Limits(d), state: s.Clone(), now: d.At, every: every, current: d.Desired,
	}
}

// play returns the steps until the proposal is reached, up to a number.
func (w *walk) play(proposed int32, most int) (steps []Step, settled bool) {
	var delayedBy *Limits
	end := w.horizon()
	for range maxDecisions {
		w.now = w.now.Add(w.every)
		if w.now.After(end) {
			return steps, true
		}
		before := w.current
		limits := w.decide(proposed)
		if w.current == before {
			delayedBy = &limits
			continue
		}
		steps = append(steps, Step{At: w.now, Replicas: w.current, Stabilized: limits.Stabilized,
			Limited: limits.Limited, DelayedBy: delayedBy})
		if len(steps) == most {
			return steps, false
		}
		delayedBy, end = nil, w.horizon()
	}
	return steps, false
}

// horizon returns until when the history can limit a change.
func (w *walk) horizon() time.Time {
	longest := w.limits.DownscaleStabilization
	if b := w.limits.Behavior; b != nil {
		longest = max(b.Up.Stabilization, b.Down.Stabilization, b.Up.LongestPeriod(), b.Down.LongestPeriod())
	}
	return w.now.Add(longest + 2*w.every)
}

// decide makes one decision on the proposal, whose scale write succeeds.
func (w *walk) decide(proposed int32) Limits {
	if proposed < w.current && !w.mayLower {
		return Limits{}
	}
	history := w.state.History()
	ask := behavior.Proposed{
		Now: w.now, Current: w.current, Replicas: proposed, PassingWindow: surge.Confirmation, Fresh: math.MaxInt32,
	}
	var t Limits
	t.Stabilized = behavior.Stabilize(&w.limits, &history, ask)
	ask.Replicas = max(t.Stabilized.Replicas, w.ahead)
	t.Limited = behavior.Limit(&w.limits, &history, ask)
	w.record(t.Limited.Replicas)
	return t
}

func (w *walk) record(replicas int32) {
	if replicas == w.current {
		return
	}
	pending := behavior.PendingOf(w.limits.Behavior, w.current, replicas)
	w.current, w.state.Pending = replicas, &pending
	w.state = horizontal.Settle(w.state, horizontal.Outcome{At: w.now})
}
