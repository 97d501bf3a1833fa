package projection

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// Change is the next change of the count if the observation does not change.
type Change struct {
	// After is the time until which the count stays: the first decision after it changes the count. It is the time of the
	// decision itself if the next one changes it.
	After time.Time
	// Least and Most are the counts that the first decision after it may set. They differ if other limits end before that
	// decision, too: a count is lowered once in a sync period, and by then more recommendations may have expired.
	Least, Most int32
}

// lateness is the time by which a decision on new samples may be later than a sync period after the last one.
const lateness = 5 * time.Second

// NextChange returns the change that follows a decision that metrics made. The state is the settled one after it; it is
// only read. every is the sync period. The moment follows from the state, and does not depend on when decisions are
// made. It finds none if the count stays, or if the proposal depends on the clock: during a surge or while surges are
// ignored, with a forecast, while an HPA without behavior waits for a new value before it doubles, and if a schedule or
// a fallback may be due before the decision that changes the count. At the end of the cooldown, inactive metrics stop
// proposing replicas.
func NextChange(
	p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision, every time.Duration,
) (next Change, found bool) {
	isConstant := d.Proposed.Source != proposal.Surge && d.Surge.Verdict < surge.Unhelped && ForecastAsks(d) == 0
	if d.Branch != horizontal.BranchMetrics || !isConstant || d.Limited.IsDoublingHeld {
		return Change{}, false
	}
	w := newWalk(p, s, d, max(every, trigger.LoweringPeriod)+lateness)
	w.mayLower = d.Proposed.MayLower
	if d.IsLoweringHeld {
		next, found = w.changeAt(s.LoweringAt.Add(trigger.LoweringPeriod), max(0, d.Proposed.Replicas))
		found = found && next.Most < d.Desired
	} else {
		next, found = w.next(w.now, max(0, d.Proposed.Replicas))
	}
	if end := cooldownEnd(d); isDue(end, next.After) || !found && !end.IsZero() {
		next, found = w.cooledDown(d, end)
	} else if isDue(end, w.latest(next.After)) {
		return Change{}, false // The first decision after that time may be one after the cooldown.
	}
	if found && isDue(dueAt(d), w.latest(next.After)) {
		return Change{}, false
	}
	return next, found
}

// isDue reports whether something is due at a time, which is zero if nothing is, or earlier.
func isDue(due, at time.Time) bool { return !due.IsZero() && !due.After(at) }

// ForecastAsks returns the count that a forecast asks for if that is more than the metrics ask for, even if the windows
// keep that many replicas without it; 0 if there is none.
func ForecastAsks(d *horizontal.Decision) int32 {
	isApplied := d.Policy.Forecast.Mode == forecast.Active && d.Current > 0 && d.Failed-d.Fallbacks.Failed+d.Pending == 0
	switch {
	case d.ForecastReplicas > 0:
		return d.ForecastReplicas
	case d.Branch != horizontal.BranchMetrics || !isApplied || d.Forecast.Replicas <= d.Proposed.Replicas:
		return 0
	}
	return d.Forecast.Replicas
}

// dueAt returns when a schedule or a fallback changes the proposal; zero if none does.
func dueAt(d *horizontal.Decision) time.Time {
	schedule, fallback := d.Schedules.Next.At, d.Fallbacks.Due
	if schedule.IsZero() || !fallback.IsZero() && fallback.Before(schedule) {
		return fallback
	}
	return schedule
}

// cooldownEnd returns when the cooldown ends if no metric becomes active; zero if none runs. Once it has ended, only
// the last replica is left to remove.
func cooldownEnd(d *horizontal.Decision) time.Time {
	switch {
	case d.Zero.IsCooledDown && d.Desired == 1 && !d.IsLoweringHeld:
		return d.At
	case d.Zero.IsCooledDown || d.Current == 0:
		return time.Time{}
	}
	return d.Zero.CooldownEnd
}

// cooledDown finds the first change from the end of the cooldown on. It finds none while it is unknown whether a metric
// is active, which moves the end, and if the scaleDown window holds the last proposal before the end.
func (w *walk) cooledDown(d *horizontal.Decision, end time.Time) (next Change, found bool) {
	p := d.Policy
	idle := zero.Inactive(p.Metrics, d.Metrics, w.mayLower).OrFallback(d.Fallbacks.Active, w.mayLower)
	before, proposed := max(0, d.Proposed.Replicas), max(0, idle.Replicas)
	isLast := w.current == 1 && before <= 1 && proposed <= 1 && w.mayLower && zero.MayBe(p.Metrics, p.MinReplicas) &&
		(p.Behavior == nil || p.Behavior.Down.Select != behavior.SelectDisabled)
	switch {
	case d.IsLoweringHeld || !d.Zero.UnknownSince.IsZero():
		return Change{}, false
	case isLast:
		if then, _ := w.after(end, proposed); then <= 1 {
			return Change{After: end}, true
		}
	case proposed < before && w.downWindow() > 0:
		return Change{}, false
	}
	return w.next(end, proposed)
}

// downWindow returns how long the highest recommendation counts.
func (w *walk) downWindow() time.Duration {
	if b := w.limits.Behavior; b != nil {
		return b.Down.Stabilization
	}
	return w.limits.DownscaleStabilization
}

// next finds the first moment from a time on after which the same proposal leads to another count.
func (w *walk) next(from time.Time, proposed int32) (next Change, found bool) {
	for _, at := range append([]time.Time{from}, w.moments()...) {
		if then, _ := w.after(at, proposed); !at.Before(from) && then != w.current {
			return w.changeAt(at, proposed)
		}
	}
	return Change{}, false
}

// changeAt returns the change at a moment, whenever the first decision after it is made. It finds none if that decision
// may keep the count.
func (w *walk) changeAt(moment time.Time, proposed int32) (next Change, found bool) {
	then, _ := w.after(moment, proposed)
	next, found = Change{After: moment, Least: then, Most: then}, then != w.current
	for _, at := range w.moments() {
		if !at.After(moment) || at.After(w.latest(moment)) {
			continue
		}
		then, _ = w.after(at, proposed)
		next.Least, next.Most = min(next.Least, then), max(next.Most, then)
		found = found && then != w.current
	}
	return next, found
}

// latest returns the latest time of the first decision after a moment.
func (w *walk) latest(moment time.Time) time.Time { return moment.Add(w.every) }

// lower finds the first moment after which the count falls if nothing is proposed any more.
func (w *walk) lower() *Step {
	w.mayLower = true
	var delayedBy *Limits
	for _, at := range w.moments() {
		then, limits := w.after(at, 0)
		if then < w.current {
			return &Step{At: at, Replicas: then, Stabilized: limits.Stabilized, Limited: limits.Limited, DelayedBy: delayedBy}
		}
		delayedBy = &limits
	}
	return nil
}

// after returns the count that a proposal leads to right after a moment, and its limits. Some windows include their
// last moment, others end at it.
func (w *walk) after(at time.Time, proposed int32) (int32, Limits) {
	then := *w
	then.state, then.now = w.state.Clone(), at.Add(time.Nanosecond)
	limits := then.decide(proposed)
	return then.current, limits
}

// moments returns the decision's own time, and the times at which an entry of the history expires.
func (w *walk) moments() []time.Time {
	up, down := time.Duration(0), w.downWindow()
	all := []time.Time{w.now}
	if b := w.limits.Behavior; b != nil {
		up = b.Up.Stabilization
		policies := slices.Concat(b.Up.Policies, b.Down.Policies)
		for _, change := range slices.Concat(w.state.ScaleUps, w.state.ScaleDowns) {
			for _, policy := range policies {
				all = append(all, change.Time.Add(policy.Period))
			}
		}
	}
	r := &w.state.Recommendations
	for _, of := range []struct {
		entries []history.Recommendation
		count   time.Duration
	}{
		{r.Highs, down}, {r.Lows, up}, {r.Slots, down}, {r.Slots, up}, {r.Passing, min(down, surge.Confirmation)},
	} {
		for _, entry := range of.entries {
			all = append(all, entry.Time.Add(of.count))
		}
	}
	all = slices.DeleteFunc(all, func(at time.Time) bool { return at.Before(w.now) })
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}
