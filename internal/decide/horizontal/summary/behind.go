package summary

import (
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
)

// behind is the limit that would lead to the same count without the stabilization windows; None if there is no such
// limit. Both have to go before the count changes.
func (w *writer) behind() projection.Limit {
	limits := w.Policy.Limits(w.Decision)
	past := behavior.History{Recommendations: &history.Recommendations{}}
	if w.State != nil {
		past.Ups, past.Downs = w.before(w.State.ScaleUps), w.before(w.State.ScaleDowns)
	}
	limited := behavior.Limit(&limits, &past, behavior.Proposed{
		Now: w.At, Current: w.Current, Replicas: max(0, w.Proposed.Replicas, w.ForecastReplicas), Fresh: math.MaxInt32,
	})
	if limited.Replicas != w.Desired {
		return projection.None
	}
	switch limited.Reason {
	case behavior.TooFewReplicas:
		return w.minLimit()
	case behavior.TooManyReplicas:
		if w.Schedules.MaxBy != nil {
			return projection.ScheduleMax
		}
		return projection.MaxReplicas
	case behavior.ScaleUpLimit:
		return projection.ScaleUpRate
	case behavior.ScaleDownLimit:
		return projection.ScaleDownRate
	}
	return projection.None
}

// minLimit is the limit that the least replicas are.
func (w *writer) minLimit() projection.Limit {
	switch {
	case w.Zero.IsPossible && w.Current > 0:
		return projection.Cooldown
	case w.Schedules.MinBy != nil:
		return projection.ScheduleMin
	}
	return projection.MinReplicas
}

// before are the changes before the decision: the state has its own, too.
func (w *writer) before(changes history.Changes) history.Changes {
	return slices.DeleteFunc(slices.Clone(changes), func(c history.Change) bool { return !c.Time.Before(w.At) })
}
