// Package trace translates a decision to the terms of KEP-6107, for status.lastScaleDecision: what the metrics
// recommended, what limited it, and why.
package trace

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// Trace is a decision. Its strings are the KEP's.
type Trace struct {
	Current, Desired int32
	// Recommended is nil if no metric recommends a count.
	Recommended *int32
	Reason      string
	Metrics     []Metric
	Constraints []string
}

// Metric is the part of one metric of the policy.
type Metric struct {
	Index int32
	// Proposed is nil if the metric could not be computed.
	Proposed       *int32
	Status, Reason string
}

// The constraints, in the order in which a decision has them.
const (
	minReplicas   = "MinReplicas"
	maxReplicas   = "MaxReplicas"
	stabilization = "Stabilization"
	tolerance     = "Tolerance"
	scalingPolicy = "ScalingPolicy"
	invalidMetric = "InvalidMetricGuard"
)

// Of returns the decision's trace. It is nil if the decision computed no count: while the scale cannot be read, while
// the target is at zero replicas set by another writer, in mode Paused, and before the first values.
func Of(d *horizontal.Decision) *Trace {
	switch d.Branch {
	case horizontal.BranchNoScale, horizontal.BranchDisabled, horizontal.BranchPaused, horizontal.BranchAwaiting:
		return nil
	}
	limit, isHeld := projection.BindingLimit(d), isHeld(d)
	t := &Trace{
		Current: d.Current, Desired: d.Desired, Reason: reasonOf(d, limit, isHeld), Metrics: metricsOf(d, isHeld),
		Constraints: constraintsOf(d, limit, isHeld),
	}
	if s := d.Proposed.Source; s == proposal.Metric || s == proposal.Surge {
		recommended := d.Proposed.Replicas
		t.Recommended = &recommended
	}
	return t
}

// isHeld reports whether a failed metric prevents the others from lowering the count.
func isHeld(d *horizontal.Decision) bool {
	return d.Branch == horizontal.BranchFailed && d.Failed > 0 && d.Proposed.Source != proposal.None &&
		d.Proposed.Replicas < d.Current
}

func reasonOf(d *horizontal.Decision, limit projection.Limit, isHeld bool) string {
	switch limit {
	case projection.Unusable:
		if isHeld || len(d.Metrics) > 0 {
			return "InvalidMetrics"
		}
		return "RecommendationFailed"
	case projection.Tolerance:
		return "WithinTolerance"
	case projection.Stabilization, projection.NewerSamples, projection.SyncPeriod:
		return "Stabilized"
	case projection.ScaleUpRate, projection.ScaleDownRate:
		return "PolicyLimited"
	case projection.MinReplicas, projection.MaxReplicas, projection.ScheduleMin, projection.ScheduleMax,
		projection.Cooldown:
		return "ReplicaLimit"
	}
	if len(d.Metrics) > 0 && !slices.ContainsFunc(d.Metrics, func(r metric.Result) bool { return r.Failure == nil }) {
		return "InvalidMetrics" // A fallback or a forecast decides.
	}
	return "MetricRecommendation"
}

func constraintsOf(d *horizontal.Decision, limit projection.Limit, isHeld bool) (all []string) {
	isComputed := d.Branch == horizontal.BranchMetrics
	add := func(name string, applies bool) {
		if applies {
			all = append(all, name)
		}
	}
	add(minReplicas, d.Branch == horizontal.BranchBelowMin || d.RaisedToMin ||
		isComputed && d.Limited.Reason == behavior.TooFewReplicas)
	add(maxReplicas, d.Branch == horizontal.BranchAboveMax || isComputed && d.Limited.Reason == behavior.TooManyReplicas)
	add(stabilization, isComputed && (d.Stabilized.Reason != behavior.ReadyForNewScale || d.IsLoweringHeld))
	add(tolerance, limit == projection.Tolerance)
	// The maxReplicas of a schedule is reached as fast as policies permit.
	add(scalingPolicy, isComputed && d.Stabilized.IsDisabled ||
		d.Limited.Reason == behavior.ScaleUpLimit || d.Limited.Reason == behavior.ScaleDownLimit)
	add(invalidMetric, isHeld)
	return all
}

// metricsOf returns the metrics that could be computed or that failed; others are awaited.
func metricsOf(d *horizontal.Decision, isHeld bool) (all []Metric) {
	for i := range d.Metrics {
		r := &d.Metrics[i]
		m := Metric{Index: int32(i), Status: "Valid", Reason: "Computed"}
		switch {
		case r.Pending:
			continue
		case r.Failure != nil:
			m.Status, m.Reason = "Invalid", failureOf(r)
			all = append(all, m)
			continue
		case isHeld:
			m.Reason = "SkippedScaleDown"
		case isUsed(d.Proposed, i):
			m.Status = "Used"
		}
		proposed := r.Replicas
		m.Proposed = &proposed
		all = append(all, m)
	}
	return all
}

func isUsed(p proposal.Proposal, i int) bool {
	return p.Index == i && (p.Source == proposal.Metric || p.Source == proposal.Surge)
}

func failureOf(r *metric.Result) string {
	switch {
	case metric.IsWithoutPods(r.Failure):
		return "NoMatchingPods"
	case r.Failure.Reason == "InvalidMetricSourceType":
		return "InvalidMetricValue"
	default:
		return "FetchFailed"
	}
}

// IsSame reports whether both traces mean the same, as the KEP says: the current replicas, the recommendation, the
// desired replicas, the metrics' statuses, proposals and reasons, and the constraints.
func (t *Trace) IsSame(other *Trace) bool {
	return t.HasSameResult(other) && isSame(t.Recommended, other.Recommended) &&
		slices.EqualFunc(t.Metrics, other.Metrics, func(a, b Metric) bool { return isSame(a.Proposed, b.Proposed) })
}

// HasSameResult is IsSame without the recommendation and the proposals. They differ each time, and the KEP demands no
// write for the trace alone.
func (t *Trace) HasSameResult(other *Trace) bool {
	return t.Current == other.Current && t.Desired == other.Desired && t.Reason == other.Reason &&
		slices.Equal(t.Constraints, other.Constraints) &&
		slices.EqualFunc(t.Metrics, other.Metrics, func(a, b Metric) bool {
			return a.Index == b.Index && a.Status == b.Status && a.Reason == b.Reason
		})
}

func isSame(a, b *int32) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
