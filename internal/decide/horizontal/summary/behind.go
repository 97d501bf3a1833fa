package summary

import (
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
)

// behind are the limits that would lead to the same count without the stabilization windows, the one that lasts first.
// All have to go before the count changes. Permits is how far the policies would let the count go.
func (w *writer) behind() (limits []projection.Limit, permits int32) {
	within := w.Policy.Limits(w.Decision)
	past := behavior.History{Recommendations: &history.Recommendations{}}
	if w.State != nil {
		past.Ups, past.Downs = w.before(w.State.ScaleUps), w.before(w.State.ScaleDowns)
	}
	limited := behavior.Limit(&within, &past, behavior.Proposed{
		Now: w.At, Current: w.Current, Replicas: max(0, w.Proposed.Replicas, w.ForecastReplicas), Fresh: math.MaxInt32,
	})
	if limited.Replicas != w.Desired {
		return nil, 0
	}
	rate := projection.ScaleUpRate
	switch limited.Reason {
	case behavior.DesiredWithinRange:
		return nil, 0
	case behavior.TooManyReplicas:
		limits = append(limits, w.maxLimit())
	case behavior.TooFewReplicas:
		limits, rate = append(limits, w.minLimit()), projection.ScaleDownRate
	case behavior.ScaleDownLimit:
		rate = projection.ScaleDownRate
	}
	if limited.Rated && limited.RateLimit == limited.Replicas {
		limits = append(limits, rate)
	}
	return limits, limited.RateLimit
}

// maxLimit is the limit that the most replicas are.
func (w *writer) maxLimit() projection.Limit {
	if w.Schedules.MaxBy != nil {
		return projection.ScheduleMax
	}
	return projection.MaxReplicas
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

// behindTolerance is the limit that would keep a metric at the count without the tolerance; None if it would ask for
// another one.
func (w *writer) behindTolerance(r *metric.Result) projection.Limit {
	n := &r.Counts
	pods, limit := n.Counted+n.Unsampled, projection.MorePods
	isFilled := n.Missing > 0 || n.Unready > 0 && r.Ratio > 1
	switch {
	case r.Groups == nil && w.Policy.Metrics[w.index].Target.Type != source.Value:
		return projection.None
	case r.Groups == nil:
		if pods, limit = w.readyPods(), projection.FewerPods; pods == 0 {
			return projection.NoReadyPods
		}
	case isFilled:
		pods, limit = pods+n.Missing, projection.AssumedValues
		if r.Ratio > 1 {
			pods += n.Unready
		}
	case pods < int(w.Current):
		limit = projection.FewerPods
	}
	if r.Adjusted > 1 {
		pods = min(pods, int(w.Current))
	}
	asked := arithmetic.Saturate.Ceil32(r.Adjusted * float64(pods))
	isUp := r.Ratio > 1
	if isTurned := isUp != (r.Adjusted > 1) || isUp != (asked > w.Current); isTurned || asked == w.Current {
		return limit
	}
	return projection.None
}

// readyPods is how many are ready; all that there are to be if the pods are not known.
func (w *writer) readyPods() (n int) {
	if w.Pods == nil {
		return int(w.Current)
	}
	for i := range w.Pods {
		if w.Pods[i].Phase == metric.PhaseRunning && w.Pods[i].Ready == metric.ReadyTrue {
			n++
		}
	}
	return n
}
