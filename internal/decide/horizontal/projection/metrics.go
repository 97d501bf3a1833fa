package projection

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// Plain returns what a metric asks for by its ratio and the replica count alone, by the formula of the
// HorizontalPodAutoscaler's documentation:
//
//	desiredReplicas = ceil[currentReplicas × ( currentMetricValue / desiredMetricValue )]
//
// Within the tolerance that is the count itself. A value for the whole target needs no count.
func Plain(d *horizontal.Decision, r *metric.Result) int32 {
	// A value of which no pod is ready asks for none upstream, and has no base either.
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

// ofProposal returns what kept the winning proposal from the most that a metric's ratio asks for, and of which metric:
// of that one if it lost therefore, or else of the one that won.
func ofProposal(d *horizontal.Decision) (limit Limit, index int) {
	winner := d.Winner()
	index, most := -1, winner.Replicas
	for i := range d.Metrics {
		r := &d.Metrics[i]
		if plain := Plain(d, r); r.Failure == nil && !r.Pending && plain > most {
			index, most = i, plain
		}
	}
	isBeaten := index >= 0
	if !isBeaten {
		index = winner.Index
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

// ofMetric returns what kept a metric from proposing what its ratio asks for.
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

// directionKeptBy returns why counting all pods would reverse the direction: assumed values did, or there are more pods
// than replicas and a low ratio, or fewer and a high one.
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
