package summary

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
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
		return w.firstReplica()
	case projection.Inactive:
		w.name(projection.Inactive)
		if w.Desired < w.Current {
			return "no metric has been active for the cooldown period"
		}
		return w.inactive()
	}
	return w.ofMetrics()
}

func (w *writer) firstReplica() string {
	w.name(projection.FirstReplica)
	if w.Bounds.MaxReplicas == 1 {
		w.name(w.maxLimit())
		return w.asks() + ", and from 0 the first replica comes at once; " + w.maxText()
	}
	return w.asks() + ", and from 0 the first replica comes at once, the others as scaleUp permits"
}

func (w *writer) name(limit projection.Limit) { w.named = append(w.named, limit) }

// failed is why there is no count: the selector, or metrics without values.
func (w *writer) failed() string {
	w.name(projection.Unusable)
	switch s := w.Target.Selector; {
	case s.Problem == podselector.Missing:
		return "the scale of the target has no selector, so that its pods are not known"
	case s.Problem == podselector.Ambiguous:
		return sharedText(s.Message) + ", and none of these scales"
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
		text += fmt.Sprintf("; if %s still cannot be read at %s, its fallback %s", w.metricName(i), w.clock(at),
			w.fallbackAsks(i))
	}
	return text
}

// sharedText is upstream's message about autoscalers that select the same pods, with their names in a plain list.
func sharedText(message string) string {
	text, names, isThere := strings.Cut(message, " (e.g. [")
	if !isThere {
		return message
	}
	return text + " (" + strings.ReplaceAll(strings.TrimSuffix(names, "])"), " ", ", ") + ")"
}

// unreadable names the first metric that cannot be read and has no fallback instead, and how many others cannot.
func (w *writer) unreadable() string {
	for i := range w.Metrics {
		f := w.Metrics[i].Failure
		if f == nil || fallback.IsActive(w.Fallbacks.Active, i) {
			continue
		}
		text := w.metricName(i) + " cannot be read"
		text += w.otherUnreadable(i)
		return text + " (" + w.cause(i) + ")"
	}
	return "no metric has a value yet"
}

// otherUnreadable is which other metric cannot be read, or how many; empty without any.
func (w *writer) otherUnreadable(first int) string {
	more := w.Failed - w.Fallbacks.Failed - 1
	if more <= 0 {
		return ""
	}
	w.areAllUnreadSaid = true
	for i := range w.Metrics {
		if more == 1 && i != first && w.Metrics[i].Failure != nil && !fallback.IsActive(w.Fallbacks.Active, i) {
			return ", nor can " + w.metricName(i)
		}
	}
	return fmt.Sprintf(", nor can %d more", more)
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
		switch name, failure := w.metricName(i), w.Elsewhere[i]; {
		case !w.Metrics[i].Pending:
		case failure != "":
			return fmt.Sprintf("%s cannot be read by the controller (%s)", name, FailureText(&w.Policy.Metrics[i], failure))
		default:
			return name + " has no value yet"
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
	case w.limit == projection.ScaleDownRate && w.isDownDisabled():
		text += ", but selectPolicy of scaleDown is Disabled"
	case w.limit == projection.ScaleDownRate:
		text += fmt.Sprintf(", and the policies of scaleDown permit %d now", w.Limited.Replicas)
	case w.ActiveDesired > w.Bounds.MaxReplicas:
		text = fmt.Sprintf("maxReplicas of the spec is %d; from there it goes down as scaleDown permits, as %s",
			w.ActiveDesired, text)
	}
	if w.Proposed.Source == proposal.None || w.Proposed.Source == proposal.Schedule {
		return text
	}
	return text + "; " + w.asks()
}

func (w *writer) limitedByMin() string {
	w.name(w.limit)
	text := w.minText()
	if w.isAtRate() && !w.RaisedToMin {
		w.name(projection.ScaleDownRate)
		text += ", which is as far as the policies of scaleDown permit"
	}
	if w.Schedules.MaxWins {
		return text + "; " + w.asks()
	}
	return text + ", and " + w.asks()
}

// demand is what is asked for, with what the windows make of it.
func (w *writer) demand() string {
	isRaisedAnyway := w.Desired > w.Current && w.Winner().Replicas >= w.Desired
	if w.Stabilized.Reason == behavior.ReadyForNewScale || isRaisedAnyway {
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
	by := w.Schedules.MaxBy
	text := fmt.Sprintf("Asks for %s, limited to %d by maxReplicas%s", countText(w.askedNow()), w.Desired, ofSchedule(by))
	if w.Rescale {
		text = fmt.Sprintf("Scales from %d to %d, limited by maxReplicas%s", w.Current, w.Desired, ofSchedule(by))
	}
	if w.isAtRate() {
		w.name(projection.ScaleUpRate)
		text += " and by how fast it may grow"
	}
	text += w.limitedSince() + w.lasts(by, isMax) + w.others(by, isMax)
	if w.Rescale {
		text += ": " + w.demand()
	}
	return text + w.excess()
}

// limitedSince is " since 09:12:00", if it is known since when more is asked for than the most replicas, or else since
// when there are as many.
func (w *writer) limitedSince() string {
	switch s := w.State; {
	case w.Rescale:
		return ""
	case !w.LimitedSince.IsZero():
		return " since " + w.clock(w.LimitedSince)
	case s != nil && !s.Count.ChangedAt.IsZero() && s.Count.Replicas == w.Desired:
		return fmt.Sprintf(" (%d since %s)", w.Desired, w.clock(s.Count.ChangedAt))
	}
	return ""
}

// askedNow is the count that is asked for now, whatever was before.
func (w *writer) askedNow() int32 { return max(w.Proposed.Replicas, w.ForecastReplicas) }

// heldAtMax is of a count that would go down without the windows, and up without max.
func (w *writer) heldAtMax() string {
	w.name(w.limit)
	if by := w.Schedules.MaxBy; w.askedNow() == w.Desired {
		return fmt.Sprintf("Stays at %d, which is maxReplicas%s%s%s: %s; %s", w.Current, ofSchedule(by), w.lasts(by, isMax),
			w.others(by, isMax), w.asks(), w.window())
	}
	return w.held(fmt.Sprintf(", limited to %d by maxReplicas%s", w.Desired, ofSchedule(w.Schedules.MaxBy)))
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
	case b == nil && w.Branch == horizontal.BranchPaused:
		return w.asks() + ", and without behavior a decision " + doubling(w.Current, permits)
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
