package projection

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// Plain returns the proposal of a metric from its ratio and the replica count alone, by the formula in the
// documentation of the HorizontalPodAutoscaler:
//
//	desiredReplicas = ceil[currentReplicas × ( currentMetricValue / desiredMetricValue )]
//
// Within the tolerance it is the current count. A value for the whole target does not depend on the count.
func Plain(d *horizontal.Decision, r *metric.Result) int32 {
	// Upstream multiplies no ratio if no pod is ready, and has no base either.
	isWhole := r.Base == 0 && r.Verdict == metric.Scaled && (r.Replicas != 0 || r.Ratio <= 0)
	switch {
	case r.Groups == nil && (isWhole || d.Current == 0):
		return r.Replicas
	case d.Tolerance.Within(r.Ratio):
		return d.Current
	default:
		return arithmetic.Saturate.Ceil32(r.Ratio * float64(d.Current))
	}
}

// ofProposal returns the limit that kept the winning proposal below or above the largest count by a metric's ratio, and
// the index of a metric: that one if it lost because of the limit, or else the winner.
func ofProposal(d *horizontal.Decision) (limit Limit, index int) {
	winner := d.Winner()
	index, most, isBeaten := winner.Index, winner.Replicas, false
	for i := range d.Metrics {
		r := &d.Metrics[i]
		if plain := Plain(d, r); r.Failure == nil && !r.Pending && plain > most {
			index, most, isBeaten = i, plain, true
		}
	}
	switch {
	case !isBeaten && winner.Source != proposal.Metric:
		return None, 0
	case d.Zero.IsIdle && d.Metrics[index].Replicas > winner.Replicas:
		return Inactive, index
	case d.Zero.IsActive && d.Metrics[index].Replicas < winner.Replicas && !isBeaten:
		return ActiveMetric, index
	default:
		return ofMetric(d, &d.Metrics[index]), index
	}
}

// ofMetric returns the limit that kept a metric from proposing the count by its ratio.
func ofMetric(d *horizontal.Decision, r *metric.Result) Limit {
	switch r.Verdict {
	case metric.WithinTolerance:
		if r.Groups != nil && !d.Tolerance.Within(r.Ratio) {
			return AssumedValues
		}
		return Tolerance
	case metric.NothingReady:
		return NoReadyPods
	case metric.DirectionKept:
		return directionKeptBy(r)
	}
	if r.Replicas == Plain(d, r) {
		return None
	}
	current := int64(d.Current)
	isAssumed := r.Verdict == metric.Recomputed &&
		arithmetic.Saturate.Ceil32(r.Adjusted*float64(current)) == r.Replicas
	switch {
	case isAssumed, r.Base == current:
		return AssumedValues
	case r.Base < current:
		return FewerPods
	default:
		return MorePods
	}
}

// directionKeptBy returns why counting all pods would reverse the direction: because of assumed values, or because
// there are more pods than replicas and a low ratio, or fewer and a high one.
func directionKeptBy(r *metric.Result) Limit {
	switch {
	case r.Groups != nil && (r.Ratio > 1) != (r.Adjusted > 1):
		return AssumedValues
	case r.Ratio > 1:
		return FewerPods
	default:
		return MorePods
	}
}
