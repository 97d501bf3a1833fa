// Package projection says what comes after a decision if the load stays as it is,
// and how early the count could fall if the load ended.
//
// It plays the decision's wish on through the same windows and rates, from turn to
// turn of the clock. What it says is therefore as good as its assumption: that
// nobody asks for anything else meanwhile.
package projection

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// maxTurns bounds the work: a day at a turn each 15 s is 5,760.
const maxTurns = 6000

// maxSteps bounds what is told.
const maxSteps = 100

// Step is a count to come.
type Step struct {
	At       time.Time
	Replicas int32
	// Stabilized and Limited are what made it this count and no other.
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
	// Held is what kept the count until then; nil for the first step.
	Held *Hold
}

// Hold is a decision that changes nothing.
type Hold struct {
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
}

// Projection is what comes.
type Projection struct {
	// Steps are the changes after the decision; none if the count stays.
	Steps []Step
	// Settled says that after the steps the count stays as long as the wish does.
	Settled bool
	// Lower is how the count falls at the earliest, if from now on nothing is wanted;
	// nil if it cannot fall, or would not within a day.
	Lower *Step
}

// Project looks ahead of a decision that metrics made. The state is the settled one
// after it; it is only read. Every is the time from turn to turn.
func Project(p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision, every time.Duration) Projection {
	var o Projection
	if d.Branch != horizontal.BranchMetrics {
		return o
	}
	up := newWalk(p, s, d, every)
	up.mayLower = d.Proposed.MayLower
	o.Steps, o.Settled = up.play(d.Proposed.Replicas, maxSteps)
	down := newWalk(p, s, d, every)
	down.mayLower = true
	down.falls = true
	if steps, _ := down.play(0, 1); len(steps) > 0 {
		o.Lower = &steps[0]
	}
	return o
}

// walk plays a constant wish on.
type walk struct {
	limits   behavior.Limits
	state    horizontal.State
	now      time.Time
	every    time.Duration
	current  int32
	mayLower bool
	// falls says that only a lower count is a step.
	falls bool
}

func newWalk(p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision, every time.Duration) *walk {
	return &walk{
		limits: p.Limits(), state: s.Clone(), now: d.At, every: every, current: d.Desired,
	}
}

// play is the steps until the wish is reached, at most so many.
func (w *walk) play(wish int32, most int) (steps []Step, settled bool) {
	var held *Hold
	end := w.horizon()
	for range maxTurns {
		w.now = w.now.Add(w.every)
		if w.now.After(end) {
			return steps, true
		}
		before := w.current
		turn := w.turn(wish)
		if w.current == before {
			held = &turn
			continue
		}
		if w.falls && w.current > before {
			held, end = nil, w.horizon()
			continue
		}
		steps = append(steps, Step{At: w.now, Replicas: w.current, Stabilized: turn.Stabilized, Limited: turn.Limited, Held: held})
		if len(steps) == most {
			return steps, false
		}
		held, end = nil, w.horizon()
	}
	return steps, false
}

// horizon is until when what is remembered now can hold anything.
func (w *walk) horizon() time.Time {
	longest := w.limits.DownscaleStabilization
	if b := w.limits.Behavior; b != nil {
		longest = max(b.Up.Stabilization, b.Down.Stabilization, b.Up.LongestPeriod(), b.Down.LongestPeriod())
	}
	return w.now.Add(longest + 2*w.every)
}

// turn is one decision on the wish, written at once.
func (w *walk) turn(wish int32) Hold {
	if wish < w.current && !w.mayLower {
		return Hold{}
	}
	history := w.state.History()
	ask := behavior.Proposed{Now: w.now, Current: w.current, Replicas: wish, PassingHold: surge.Confirmation, Fresh: math.MaxInt32}
	var t Hold
	t.Stabilized = behavior.Stabilize(&w.limits, &history, ask)
	ask.Replicas = t.Stabilized.Replicas
	t.Limited = behavior.Limit(&w.limits, &history, ask)
	change := t.Limited.Replicas - w.current
	w.current = t.Limited.Replicas
	w.remember(change)
	return t
}

func (w *walk) remember(change int32) {
	if change == 0 {
		return
	}
	pending := behavior.PendingOf(w.limits.Behavior, change)
	w.state.Pending = &pending
	w.state = horizontal.Settle(w.state, horizontal.Outcome{At: w.now})
}
