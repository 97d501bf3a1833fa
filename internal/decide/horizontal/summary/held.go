package summary

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// held is of a count that an earlier recommendation keeps as it is, as far as another limit lets it: "Held at 8 until
// 23:02:24, then 5: …".
func (w *writer) held(asFar string) string {
	why := w.stabilized() + asFar
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
	switch {
	case text == "":
		return w.asks() + ", but " + window
	case slices.Contains(behind, projection.MinReplicas):
		return text // The count stays after the window, too.
	}
	return text + "; " + window
}

// window is the recommendation that counts, and for how long.
func (w *writer) window() string {
	s := &w.Stabilized
	by, isKnown := "", !w.IsHistoryUnknown && s.By.Time.Before(w.At)
	if isKnown {
		by = fmt.Sprintf("%d was asked for at %s", s.By.Replicas, w.clock(s.By.Time)) + w.lastHolding()
	} else {
		by = fmt.Sprintf("%d may have been asked for lately", s.By.Replicas)
	}
	switch {
	case s.IsPassing && isKnown:
		return fmt.Sprintf("a surge asked for %d at %s%s, and surges are held for %s", s.By.Replicas, w.clock(s.By.Time),
			w.pastSurge(), DurationText(surge.Confirmation))
	case s.IsPassing:
		return fmt.Sprintf("a surge asked for %d, and surges are held for %s", s.By.Replicas,
			DurationText(surge.Confirmation))
	case s.Reason == behavior.ScaleUpStabilized:
		return fmt.Sprintf("%s, and scaleUp takes the lowest of the last %s", by, DurationText(s.Window))
	case s.Replicas > w.Current:
		return fmt.Sprintf("%s, and the highest of the last %s counts", by, DurationText(s.Window))
	}
	return fmt.Sprintf("%s, and scaleDown takes the highest of the last %s", by, DurationText(s.Window))
}

// lastHolding is " and 10 at 12:00:30": the recommendation of which the end changes the count, if the highest one ends
// earlier.
func (w *writer) lastHolding() string {
	s := &w.Stabilized
	if w.next == nil || s.IsPassing || s.Reason != behavior.ScaleDownStabilized {
		return ""
	}
	r := &w.State.Recommendations
	for _, of := range slices.Concat(r.Highs, r.Slots) {
		if of.Time.After(s.By.Time) && of.Time.Add(s.Window).Equal(w.next.After) && of.Replicas > w.next.Most {
			return fmt.Sprintf(" and %d at %s", of.Replicas, w.clock(of.Time))
		}
	}
	return ""
}

// heldBetweenPeriods is of a count that is lowered once in a sync period.
func (w *writer) heldBetweenPeriods() string {
	w.name(projection.SyncPeriod)
	return fmt.Sprintf("%s, and the count is lowered once in %s at most", w.asks(), DurationText(trigger.LoweringPeriod))
}

// cooldown is of the last replica.
func (w *writer) cooldown() string {
	w.name(projection.Cooldown)
	switch z := &w.Zero; {
	case z.IsActive:
		return w.metricName(z.Metric) + " is active, which needs a replica"
	case w.isDownDisabled():
		return "the last replica stays, since selectPolicy of scaleDown is Disabled"
	case z.CooldownEnd.IsZero():
		return w.mayBeActive() + ", so the last replica stays"
	case z.IsCooledDown:
		return "no metric is active, and " + w.lastReplica()
	case w.IsHistoryUnknown:
		return "the last replica stays until no metric has been active for the cooldown period"
	case len(w.Policy.Metrics) == 0:
		return "it has no metrics, and " + w.lastReplica()
	default:
		return w.asks() + ", and " + w.lastReplica()
	}
}

// isLastReplicaNext reports whether the next change is that the last replica goes.
func (w *writer) isLastReplicaNext() bool {
	z := &w.Zero
	if w.next != nil {
		return w.next.Most == 0 && w.Desired == 1 && (z.IsCooledDown || w.next.After.Equal(z.CooldownEnd))
	}
	isLast := w.Current == 1 && w.Desired == 1 && w.Proposed.Replicas <= 1
	return w.State == nil && !w.IsHistoryUnknown && isLast && w.Mode() == mode.Active && w.mayBeZero()
}

// mayBeZero reports whether the cooldown's end is the next that may change the count, and then permits zero.
func (w *writer) mayBeZero() bool {
	z, schedule := &w.Zero, w.Schedules.Next.At
	return z.CooldownEnd.After(w.At) && z.UnknownSince.IsZero() && w.Proposed.MayLower && !w.isDownDisabled() &&
		zero.MayBe(w.Policy.Metrics, w.Policy.MinReplicas) && (schedule.IsZero() || schedule.After(z.CooldownEnd))
}

// lastReplica is when it goes.
func (w *writer) lastReplica() string {
	if w.isLastReplicaNext() {
		w.announced = w.next
	}
	switch at := w.clock(w.Zero.CooldownEnd); {
	case w.Zero.IsCooledDown:
		return "the last replica goes next"
	case len(w.Policy.Metrics) == 0:
		return "the last replica goes at " + at
	default:
		return fmt.Sprintf("the last replica goes at %s if no metric becomes active", at)
	}
}

// isDownDisabled reports whether behavior permits no scaling down.
func (w *writer) isDownDisabled() bool {
	b := w.Policy.Behavior
	return b != nil && b.Down.Select == behavior.SelectDisabled
}

// mayBeActive is which metric may need the last replica: one that cannot be read, or a scaler that does not say so.
func (w *writer) mayBeActive() string {
	for i := range w.Metrics {
		if w.Metrics[i].Failure != nil {
			return w.metricName(i) + " cannot be read and may be active"
		}
	}
	for i := range w.Metrics {
		if w.Policy.Metrics[i].Type.ReportsActivity() && w.Metrics[i].Activity == metric.ActivityUnknown {
			return w.metricName(i) + " does not say whether it is active"
		}
	}
	return "a metric may be active"
}
