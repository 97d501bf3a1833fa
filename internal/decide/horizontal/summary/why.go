package summary

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// why the count is what it is.
func (w *writer) why() string {
	switch w.Branch {
	case horizontal.BranchDisabled:
		w.name(projection.Maintenance)
		return "another writer scaled the target to 0, which turns autoscaling off until somebody scales it up"
	case horizontal.BranchFailed:
		return w.failed()
	case horizontal.BranchAwaiting:
		return w.awaiting()
	case horizontal.BranchAboveMax, horizontal.BranchBelowMin:
		return w.outOfRange()
	}
	switch w.limit {
	case projection.MinReplicas, projection.ScheduleMin:
		return w.limitedByMin()
	case projection.MaxReplicas, projection.ScheduleMax:
		return w.maxText() + "; " + w.asks()
	case projection.ScaleUpRate, projection.ScaleDownRate:
		return w.limitedByRate(w.limit == projection.ScaleUpRate)
	case projection.Stabilization:
		return w.stabilized()
	case projection.SyncPeriod:
		return w.heldBetweenPeriods()
	case projection.Cooldown:
		return w.cooldown()
	case projection.FirstReplica:
		w.name(projection.FirstReplica)
		return w.asks() + ", and from 0 the first replica comes at once, the others as scaleUp permits"
	case projection.Inactive:
		w.name(projection.Inactive)
		return "no metric is active"
	}
	return w.ofMetrics()
}

func (w *writer) name(limit projection.Limit) { w.named = append(w.named, limit) }

// failed is why there is no count: the selector, or metrics without values.
func (w *writer) failed() string {
	w.name(projection.Unusable)
	switch s := w.Target.Selector; {
	case s.Problem == podselector.Missing:
		return "the scale of the target has no selector, so that its pods are not known"
	case s.Problem != podselector.Fine:
		return s.Message
	case len(w.Metrics) == 0:
		return "no metric is named"
	}
	text := w.unreadable()
	if w.Proposed.Source != proposal.None && w.Proposed.Replicas < w.Current {
		text = fmt.Sprintf("%s, but nothing is scaled down while %s", w.asks(), text)
	}
	if at := w.Fallbacks.Due; !at.IsZero() && w.State != nil {
		text += fmt.Sprintf("; if that stays so, its fallback begins at %s", w.clock(at))
	}
	return text
}

// unreadable names the first metric that cannot be read, and how many others cannot.
func (w *writer) unreadable() string {
	for i := range w.Metrics {
		f := w.Metrics[i].Failure
		if f == nil {
			continue
		}
		text := w.metricName(i) + " cannot be read"
		if more := w.Failed - 1; more > 0 {
			text += fmt.Sprintf(", nor can %d more", more)
		}
		return text + " (" + f.Message + ")"
	}
	return "no metric has a value yet"
}

// awaiting is what a decision waits for.
func (w *writer) awaiting() string {
	w.name(projection.NewerSamples)
	ask := ""
	if w.Proposed.Source != proposal.None && w.Proposed.Replicas < w.Current {
		ask = w.asks() + ", but "
	}
	switch {
	case w.Failed > w.Fallbacks.Failed:
		return ask + w.unreadable()
	case w.Pending > 0:
		return ask + w.pending()
	case w.Outdated > 0:
		return ask + "the samples are from before the count last changed" + w.changedAt()
	}
	return ask + "nothing is scaled down before newer samples arrive"
}

// pending names the first metric whose value is awaited.
func (w *writer) pending() string {
	for i := range w.Metrics {
		if w.Metrics[i].Pending {
			return w.metricName(i) + " has no value yet"
		}
	}
	return "no metric has a value yet"
}

// changedAt is " (12:00:00)", when the count changed; empty if that is not known.
func (w *writer) changedAt() string {
	if w.State == nil || w.State.Count.ChangedAt.IsZero() {
		return ""
	}
	return " (" + w.clock(w.State.Count.ChangedAt) + ")"
}

// outOfRange is of a count that minReplicas or maxReplicas changes whatever the metrics are.
func (w *writer) outOfRange() string {
	w.name(w.limit)
	switch {
	case w.Branch == horizontal.BranchBelowMin:
		return w.minText()
	case w.limit == projection.ScaleDownRate:
		return fmt.Sprintf("%s, and scaleDown policies permit no faster way", w.maxText())
	}
	return w.maxText()
}

// minText is "minReplicas is 3", with the schedule that it is of.
func (w *writer) minText() string {
	return fmt.Sprintf("minReplicas%s is %d", ofSchedule(w.Schedules.MinBy), w.Bounds.MinReplicas) +
		w.scheduledUntil(w.Schedules.MinBy)
}

func (w *writer) maxText() string {
	return fmt.Sprintf("maxReplicas%s is %d", ofSchedule(w.Schedules.MaxBy), w.Bounds.MaxReplicas) +
		w.scheduledUntil(w.Schedules.MaxBy)
}

func (w *writer) limitedByMin() string {
	w.name(w.limit)
	return w.minText() + ", and " + w.asks()
}

// isLimitedByMax reports whether more is asked for than max.
func (w *writer) isLimitedByMax() bool {
	return w.Branch == horizontal.BranchMetrics && !w.IsLoweringHeld && w.Limited.Reason == behavior.TooManyReplicas
}

// limitedByMax is "Asks for 14, limited to 10 by maxReplicas since …: 40 % more load than 10 pods take".
func (w *writer) limitedByMax() string {
	w.name(w.limit)
	asked := max(w.Stabilized.Replicas, w.ForecastReplicas)
	text := fmt.Sprintf("Asks for %d, limited to %d by maxReplicas%s", asked, w.Desired, ofSchedule(w.Schedules.MaxBy))
	if w.Rescale {
		text = fmt.Sprintf("Scales from %d to %d, limited by maxReplicas%s", w.Current, w.Desired,
			ofSchedule(w.Schedules.MaxBy))
	}
	if w.Limited.Rated && w.Limited.RateLimit == w.Limited.Replicas {
		w.name(projection.ScaleUpRate)
		text += " and by the scaleUp policies"
	}
	text += w.scheduledUntil(w.Schedules.MaxBy)
	if w.Rescale {
		text += fmt.Sprintf(": %s", w.asks())
	}
	if s := w.State; s != nil && !w.Rescale && !s.Count.ChangedAt.IsZero() && s.Count.Replicas == w.Desired {
		text += fmt.Sprintf(" (%d since %s)", w.Desired, w.clock(s.Count.ChangedAt))
	}
	return text + w.excess()
}

// excess is how much more load there is than the pods take; empty if that is not known.
func (w *writer) excess() string {
	pods := float64(w.Desired)
	if !w.Load.IsKnown || !(w.Load.Pods > pods) || w.Desired <= 0 {
		return ""
	}
	most := ""
	if w.Load.IsCapped {
		most = "at least "
	}
	return fmt.Sprintf("; %s%s more load than %s take at the target", most, percent(w.Load.Pods/pods-1), podsText(w.Desired))
}

// limitedByRate is of a count that may not change as fast as it would.
func (w *writer) limitedByRate(up bool) string {
	w.name(w.limit)
	rules, b := "scaleDown", w.Policy.Behavior
	if up {
		rules = "scaleUp"
	}
	switch {
	case b != nil && b.Rules(up).Select == behavior.SelectDisabled:
		return fmt.Sprintf("%s, but selectPolicy of %s is Disabled", w.asks(), rules)
	case w.Limited.IsDoublingHeld:
		return w.asks() + ", but no value is newer than the last scale-up, and the count doubles once on each"
	case b == nil:
		return w.asks() + ", and without behavior a decision doubles the count at most"
	}
	return fmt.Sprintf("%s, but the policies of %s permit %d", w.asks(), rules, w.Limited.RateLimit)
}

// held is of a count that an earlier recommendation keeps as it is: "Held at 8 until 23:02:24, then 5: …".
func (w *writer) held() string {
	why := w.stabilized()
	if until := w.until(); until != "" {
		return fmt.Sprintf("Held at %d%s: %s", w.Current, until, why)
	}
	return fmt.Sprintf("Stays at %d: %s%s", w.Current, why, w.then())
}

// stabilized is which earlier recommendation counts, and for how long. Another limit behind it comes first: it lasts.
func (w *writer) stabilized() string {
	w.name(projection.Stabilization)
	window := w.window()
	switch behind := w.behind(); behind {
	case projection.None:
		return w.asks() + ", but " + window
	case projection.MinReplicas, projection.ScheduleMin:
		w.name(behind)
		return w.minText() + ", and " + window + "; " + w.asks()
	case projection.Cooldown:
		return w.cooldown() + ", and " + window
	case projection.MaxReplicas, projection.ScheduleMax:
		w.name(behind)
		return w.maxText() + ", and " + window + "; " + w.asks()
	default:
		return w.limitedByRate(behind == projection.ScaleUpRate) + ", and " + window
	}
}

// window is the recommendation that counts, and for how long.
func (w *writer) window() string {
	s := &w.Stabilized
	by := fmt.Sprintf("%d was asked for at %s", s.By.Replicas, w.clock(s.By.Time))
	if w.State == nil || !s.By.Time.Before(w.At) {
		by = fmt.Sprintf("%d may have been asked for lately", s.By.Replicas)
	}
	switch {
	case s.IsPassing:
		return fmt.Sprintf("a surge asked for %d, and surges are held for %s", s.By.Replicas, shortly(surge.Confirmation))
	case s.Reason == behavior.ScaleUpStabilized:
		return fmt.Sprintf("%s, and scaleUp takes the lowest of %s", by, shortly(s.Window))
	}
	return fmt.Sprintf("%s, and scaleDown takes the highest of %s", by, shortly(s.Window))
}

// heldBetweenPeriods is of a count that is lowered once in a sync period.
func (w *writer) heldBetweenPeriods() string {
	w.name(projection.SyncPeriod)
	return fmt.Sprintf("%s, and the count is lowered once in %s at most", w.asks(), shortly(trigger.LoweringPeriod))
}

// cooldown is of the last replica.
func (w *writer) cooldown() string {
	w.name(projection.Cooldown)
	switch z := &w.Zero; {
	case z.IsActive:
		return w.metricName(z.Metric) + " is active, which needs a replica"
	case z.CooldownEnd.IsZero():
		return "a metric that cannot be read may be active, so the last replica stays"
	case z.IsCooledDown:
		return "no metric is active, and the last replica goes next"
	case w.State == nil:
		return "the last replica stays until no metric has been active for the cooldown period"
	default:
		return fmt.Sprintf("the last replica goes at %s if no metric becomes active", w.clock(z.CooldownEnd))
	}
}
