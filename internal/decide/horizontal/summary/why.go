package summary

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
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
		return "the target has 0 replicas, which turns autoscaling off until somebody scales it up"
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
		return w.atMax()
	case projection.ScaleUpRate, projection.ScaleDownRate:
		if w.Stabilized.IsDisabled {
			return w.stabilized()
		}
		return w.limitedByRate(w.limit, w.Limited.RateLimit)
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
		if w.Desired < w.Current {
			return "no metric has been active for the cooldown period"
		}
		return "no metric is active, and a replica comes once one is"
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
		return "it has no metrics"
	}
	text := w.unreadable()
	if w.Proposed.Source != proposal.None && w.Proposed.Replicas < w.Current {
		text = fmt.Sprintf("%s, but nothing is scaled down while %s", w.asks(), text)
	}
	if at, i := w.Fallbacks.Due, w.Fallbacks.DueMetric; !at.IsZero() && !w.IsHistoryUnknown {
		text += fmt.Sprintf("; if %s still cannot be read at %s, its fallback asks for %d", w.metricName(i), w.clock(at),
			w.Policy.Metrics[i].Fallback.ReplicasAt(w.Current))
	}
	return text
}

// unreadable names the first metric that cannot be read and has no fallback instead, and how many others cannot.
func (w *writer) unreadable() string {
	for i := range w.Metrics {
		f := w.Metrics[i].Failure
		if f == nil || w.hasFallback(i) {
			continue
		}
		text := w.metricName(i) + " cannot be read"
		if more := w.Failed - w.Fallbacks.Failed - 1; more > 0 {
			text += fmt.Sprintf(", nor can %d more", more)
			w.areAllUnreadSaid = true
		}
		return text + " (" + f.Message + ")"
	}
	return "no metric has a value yet"
}

func (w *writer) hasFallback(i int) bool {
	return slices.ContainsFunc(w.Fallbacks.Active, func(f fallback.Active) bool { return f.Metric == i })
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
	text := w.maxText()
	switch {
	case w.Branch == horizontal.BranchBelowMin:
		text = w.minText()
	case w.limit == projection.ScaleDownRate:
		text += fmt.Sprintf(", and the policies of scaleDown permit %d now", w.Limited.Replicas)
	}
	if w.Proposed.Source == proposal.None || w.Proposed.Source == proposal.Schedule {
		return text
	}
	return text + "; " + w.asks()
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
	text := w.minText()
	if w.isAtRate() && !w.RaisedToMin {
		w.name(projection.ScaleDownRate)
		text += ", which is as far as the policies of scaleDown permit"
	}
	return text + ", and " + w.demand()
}

// demand is what is asked for, with what the windows make of it.
func (w *writer) demand() string {
	if w.Stabilized.Reason == behavior.ReadyForNewScale {
		return w.asks()
	}
	return w.asks() + ", but " + w.window()
}

// isAtRate reports whether the policies permit no more than the least or most replicas either.
func (w *writer) isAtRate() bool { return w.Limited.Rated && w.Limited.RateLimit == w.Limited.Replicas }

// isLimitedByMax reports whether more is asked for than max.
func (w *writer) isLimitedByMax() bool {
	return w.Branch == horizontal.BranchMetrics && !w.IsLoweringHeld && w.Limited.Reason == behavior.TooManyReplicas
}

// atMax is of a count that is not carried out.
func (w *writer) atMax() string {
	w.name(w.limit)
	text := w.maxText()
	if w.isAtRate() {
		w.name(projection.ScaleUpRate)
		text += ", which is as far as it may grow at once"
	}
	return text + ", and " + w.demand()
}

// limitedByMax is "Asks for 14, limited to 10 by maxReplicas since …: 40 % more load than 10 pods take".
func (w *writer) limitedByMax() string {
	w.name(w.limit)
	text := fmt.Sprintf("Asks for %d, limited to %d by maxReplicas%s", w.askedNow(), w.Desired,
		ofSchedule(w.Schedules.MaxBy))
	if w.Rescale {
		text = fmt.Sprintf("Scales from %d to %d, limited by maxReplicas%s", w.Current, w.Desired,
			ofSchedule(w.Schedules.MaxBy))
	}
	if w.isAtRate() {
		w.name(projection.ScaleUpRate)
		text += " and by how fast it may grow"
	}
	text += w.scheduledUntil(w.Schedules.MaxBy)
	if w.Rescale {
		text += ": " + w.demand()
	}
	if s := w.State; s != nil && !w.Rescale && !s.Count.ChangedAt.IsZero() && s.Count.Replicas == w.Desired {
		text += fmt.Sprintf(" (%d since %s)", w.Desired, w.clock(s.Count.ChangedAt))
	}
	return text + w.excess()
}

// askedNow is the count that is asked for now, whatever was before.
func (w *writer) askedNow() int32 { return max(w.Proposed.Replicas, w.ForecastReplicas) }

// heldAtMax is of a count that would go down without the windows, and up without max.
func (w *writer) heldAtMax() string {
	w.name(w.limit)
	if w.askedNow() == w.Desired {
		return fmt.Sprintf("Stays at %d: %s; %s, but %s", w.Current, w.asks(), w.window(), w.maxText())
	}
	return w.held() + fmt.Sprintf(", limited to %d by maxReplicas%s", w.Desired, ofSchedule(w.Schedules.MaxBy))
}

// excess is how much more load there is than the pods take; empty if that is not known.
func (w *writer) excess() string {
	const many, most = 2, 99
	pods, least := float64(w.Desired), ""
	if w.Load.IsCapped {
		least = "at least "
	}
	switch times := w.Load.Pods / pods; {
	case !w.Load.IsKnown || !(w.Load.Pods > pods) || w.Desired <= 0:
		return ""
	case times < many:
		return fmt.Sprintf("; %s%s more load than %s take at the target", least, percent(times-1), podsText(w.Desired))
	case times > most:
		return fmt.Sprintf("; more than %d times the load that %s take at the target", most, podsText(w.Desired))
	default:
		return fmt.Sprintf("; %s%.1f times the load that %s take at the target", least, times, podsText(w.Desired))
	}
}

// limitedByRate is of a count that may not change as fast as it would.
func (w *writer) limitedByRate(limit projection.Limit, permits int32) string {
	w.name(limit)
	up, rules, b := limit == projection.ScaleUpRate, "scaleDown", w.Policy.Behavior
	if up {
		rules = "scaleUp"
	}
	switch {
	case b != nil && b.Rules(up).Select == behavior.SelectDisabled:
		return fmt.Sprintf("%s, but selectPolicy of %s is Disabled", w.asks(), rules)
	case w.Limited.IsDoublingHeld && w.Desired > w.Current:
		return fmt.Sprintf("%s, but has no new value since the count last doubled; the other metrics ask for %d", w.asks(),
			w.Desired)
	case w.Limited.IsDoublingHeld:
		return w.asks() + ", but the count doubles once on each value, and no new one has come"
	case b == nil:
		return w.demand() + ", and without behavior a decision " + doubling(w.Current, permits)
	case w.limit == limit:
		return fmt.Sprintf("%s, but the policies of %s permit %d", w.demand(), rules, permits)
	}
	return fmt.Sprintf("%s, but the policies of %s permit %d", w.asks(), rules, permits)
}

// doubling is how far one decision may raise a count without behavior: from less than 2, further than twice as far.
func doubling(from, to int32) string {
	if from < 2 && to > from {
		return fmt.Sprintf("raises %d to %d at most", from, to)
	}
	return "doubles the count at most"
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
	behind, permits := w.behind()
	if slices.Contains(behind, projection.Cooldown) {
		return w.cooldown() // No window holds the last replica.
	}
	w.name(projection.Stabilization)
	window, text := w.window(), ""
	for _, limit := range behind {
		if text != "" {
			text += "; "
		}
		switch limit {
		case projection.ScaleUpRate, projection.ScaleDownRate:
			text += w.limitedByRate(limit, permits)
		case projection.MinReplicas, projection.ScheduleMin:
			w.name(limit)
			text += w.minText() + ", and " + w.asks()
		default:
			w.name(limit)
			text += w.maxText() + ", and " + w.asks()
		}
	}
	if text == "" {
		return w.asks() + ", but " + window
	}
	return text + "; " + window
}

// window is the recommendation that counts, and for how long.
func (w *writer) window() string {
	s := &w.Stabilized
	by := fmt.Sprintf("%d was asked for at %s", s.By.Replicas, w.clock(s.By.Time))
	if w.IsHistoryUnknown || !s.By.Time.Before(w.At) {
		by = fmt.Sprintf("%d may have been asked for lately", s.By.Replicas)
	}
	switch {
	case s.IsPassing:
		return fmt.Sprintf("a surge asked for %d, and surges are held for %s", s.By.Replicas,
			DurationText(surge.Confirmation))
	case s.Reason == behavior.ScaleUpStabilized:
		return fmt.Sprintf("%s, and scaleUp takes the lowest of %s", by, DurationText(s.Window))
	case s.Replicas > w.Current:
		return fmt.Sprintf("%s, and the highest of %s counts", by, DurationText(s.Window))
	}
	return fmt.Sprintf("%s, and scaleDown takes the highest of %s", by, DurationText(s.Window))
}

// heldBetweenPeriods is of a count that is lowered once in a sync period.
func (w *writer) heldBetweenPeriods() string {
	w.name(projection.SyncPeriod)
	return fmt.Sprintf("%s, and the count is lowered once in %s at most", w.asks(), DurationText(trigger.LoweringPeriod))
}

// cooldown is of the last replica.
func (w *writer) cooldown() string {
	w.name(projection.Cooldown)
	b := w.Policy.Behavior
	switch z := &w.Zero; {
	case z.IsActive:
		return w.metricName(z.Metric) + " is active, which needs a replica"
	case b != nil && b.Down.Select == behavior.SelectDisabled:
		return "the last replica stays, since selectPolicy of scaleDown is Disabled"
	case z.CooldownEnd.IsZero():
		return w.mayBeActive() + ", so the last replica stays"
	case z.IsCooledDown:
		return "no metric is active, and the last replica goes next"
	case w.IsHistoryUnknown:
		return "the last replica stays until no metric has been active for the cooldown period"
	default:
		return fmt.Sprintf("the last replica goes at %s if no metric becomes active", w.clock(z.CooldownEnd))
	}
}

// mayBeActive is which metric may need the last replica: one that cannot be read, or a scaler that does not say so.
func (w *writer) mayBeActive() string {
	for i := range w.Metrics {
		if w.Metrics[i].Failure != nil {
			return w.metricName(i) + " cannot be read and may be active"
		}
	}
	for i := range w.Metrics {
		if w.Policy.Metrics[i].Type == source.ExternalScaler && w.Metrics[i].Activity == metric.ActivityUnknown {
			return w.metricName(i) + " does not say whether it is active"
		}
	}
	return "a metric may be active"
}
