package projection

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

// Limit is one of the limits between the metrics' ratios and the replica count.
type Limit uint8

// The limits.
const (
	// None: the count is the one that the metrics propose.
	None Limit = iota
	// Unusable: the target, or too many metrics, cannot be used.
	Unusable
	// Maintenance: the target was scaled to 0 by hand.
	Maintenance
	// Tolerance: the metrics are close enough to their targets.
	Tolerance
	// Stabilization: an earlier recommendation applies.
	Stabilization
	// ScaleUpRate and ScaleDownRate: the rate policies permit no more.
	ScaleUpRate
	ScaleDownRate
	// MinReplicas and MaxReplicas are the object's.
	MinReplicas
	MaxReplicas
	// ScheduleMin and ScheduleMax are those of a schedule in force.
	ScheduleMin
	ScheduleMax
	// Cooldown: the last replica stays until no metric has been active for the cooldown period.
	Cooldown
	// Paused: the mode is Paused.
	Paused
	// NewerSamples: a scale-down needs newer samples.
	NewerSamples
	// SyncPeriod: new samples alone lower the count once in a sync period.
	SyncPeriod
	// FirstReplica: from zero the first replica is added at once, and windows and rates limit the others.
	FirstReplica
	// ActiveMetric: a metric is active, which requires one replica at least.
	ActiveMetric
	// Inactive: no metric is active, so that the values propose no replica.
	Inactive
	// AssumedValues: the assumptions for pods without samples, or that are not ready, make the change smaller.
	AssumedValues
	// FewerPods: fewer pods count for the metric than the target has replicas.
	FewerPods
	// MorePods: more pods count for the metric than the target has replicas.
	MorePods
	// NoReadyPods: no pod is ready.
	NoReadyPods

	limits
)

// String returns the name of the limit in explanations.
func (l Limit) String() string {
	return [limits]string{
		"nothing", "unusable input", "maintenance (0 replicas)", "tolerance", "stabilization", "scale-up rate",
		"scale-down rate",
		"min replicas", "max replicas", "min replicas of a schedule", "max replicas of a schedule", "cooldown", "paused",
		"newer samples", "sync period", "first replica", "active metric", "no active metric", "assumed values of pods",
		"fewer pods than replicas", "more pods than replicas", "no ready pod",
	}[l]
}

// Name returns the name of the limit as a label or a key.
func (l Limit) Name() string {
	return [limits]string{
		"none", "unusable", "maintenance", "tolerance", "stabilization", "scale_up_rate", "scale_down_rate",
		"min_replicas", "max_replicas", "schedule_min_replicas", "schedule_max_replicas", "cooldown", "paused",
		"newer_samples", "sync_period", "first_replica", "active_metric", "inactive", "assumed_values",
		"fewer_pods", "more_pods", "no_ready_pods",
	}[l]
}

// BindingLimit returns the limit that determined the decision's count: the last that changed it.
func BindingLimit(d *horizontal.Decision) Limit {
	limit, _ := Binding(d)
	return limit
}

// Binding returns that limit, and the index of its metric if it limits the proposal of a metric.
func Binding(d *horizontal.Decision) (limit Limit, index int) {
	switch d.Branch {
	case horizontal.BranchDisabled:
		return Maintenance, 0
	case horizontal.BranchAboveMax:
		if d.Limited.Reason == behavior.ScaleDownLimit {
			return ScaleDownRate, 0
		}
		return maxOf(d), 0
	case horizontal.BranchBelowMin:
		return minOf(d), 0
	case horizontal.BranchPaused:
		return Paused, 0
	case horizontal.BranchAwaiting:
		return NewerSamples, 0
	case horizontal.BranchMetrics:
		if limit := afterProposal(d); limit != None {
			return limit, 0
		}
		return ofProposal(d)
	default:
		return Unusable, 0
	}
}

func afterProposal(d *horizontal.Decision) Limit {
	if d.IsLoweringHeld {
		return SyncPeriod
	}
	if limit := ofLimited(d); limit != None {
		return limit
	}
	isLess := d.Desired < d.Winner().Replicas
	switch {
	case d.Zero.IsIdle && isLess:
		return Inactive
	case d.Limited.LeftZero && isLess:
		return FirstReplica
	case d.Stabilized.Reason != behavior.ReadyForNewScale &&
		(d.ForecastReplicas == 0 || d.ForecastReplicas < d.Proposed.Replicas):
		return ofStabilized(d)
	default:
		return None
	}
}

// ofStabilized returns the window, or the limit that would apply without it.
func ofStabilized(d *horizontal.Decision) Limit {
	switch {
	case !d.Stabilized.IsDisabled:
		return Stabilization
	case d.Stabilized.Reason == behavior.ScaleUpStabilized:
		return ScaleUpRate
	default:
		return ScaleDownRate
	}
}

// ofLimited returns the rate, min or max that changed the count.
func ofLimited(d *horizontal.Decision) Limit {
	switch {
	case d.Limited.Reason == behavior.TooFewReplicas && d.Zero.IsPossible && d.Current > 0:
		return Cooldown
	case d.RaisedToMin, d.Limited.Reason == behavior.TooFewReplicas:
		return minOf(d)
	case d.Limited.Reason == behavior.TooManyReplicas:
		return maxOf(d)
	case d.Limited.Reason == behavior.ScaleUpLimit:
		return ScaleUpRate
	case d.Limited.Reason == behavior.ScaleDownLimit:
		return ScaleDownRate
	default:
		return None
	}
}

func minOf(d *horizontal.Decision) Limit {
	if d.Schedules.MinBy != nil {
		return ScheduleMin
	}
	return MinReplicas
}

func maxOf(d *horizontal.Decision) Limit {
	if d.Schedules.MaxBy != nil {
		return ScheduleMax
	}
	return MaxReplicas
}

// Uses returns, for each rate policy, the count that it permits and its used part, in the direction of the decision;
// none without policies or without a direction. The state is the one before the decision.
func Uses(p *horizontal.Policy, s *horizontal.State, d *horizontal.Decision) []behavior.Use {
	proposed := max(d.Stabilized.Replicas, d.ForecastReplicas)
	if d.Branch != horizontal.BranchMetrics || proposed == d.Current {
		return nil
	}
	w := newWalk(p, s, d, 0)
	past := w.state.History()
	return behavior.Uses(&w.limits, &past, behavior.Proposed{Now: d.At, Current: d.Current, Replicas: proposed},
		proposed > d.Current)
}
