package projection

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

// Limit is one of the limits on the way from the metrics to a count.
type Limit uint8

// The limits.
const (
	// None: the count is what the metrics want.
	None Limit = iota
	// Unusable: there is no target, or too few metrics, to decide on.
	Unusable
	// Maintenance: the target was put to 0 by hand.
	Maintenance
	// Tolerance: the metrics are near enough to their targets.
	Tolerance
	// Stabilization: an earlier recommendation applies.
	Stabilization
	// ScaleUpRate and ScaleDownRate: the rate's budget is spent.
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
	// NewerSamples: a scale-down needs newer samples than there are.
	NewerSamples
	// SyncPeriod: new samples alone lower the count once in a sync period.
	SyncPeriod
	// FirstReplica: from zero one replica comes at once, and windows and rates bound the others.
	FirstReplica
	// ActiveMetric: a metric is active, which needs a replica at least.
	ActiveMetric
	// Inactive: no metric is active, so that the values ask for no replica.
	Inactive
	// AssumedValues: what is assumed for pods that have no sample or are not ready makes the change smaller.
	AssumedValues
	// FewerPods: fewer pods count for the metric than the target has replicas.
	FewerPods
	// MorePods: more pods count for the metric than the target has replicas.
	MorePods
	// NoReadyPods: no pod is ready.
	NoReadyPods

	limits
)

// String returns what an explanation calls the limit.
func (l Limit) String() string {
	return [limits]string{
		"nothing", "unusable input", "maintenance (0 replicas)", "tolerance", "stabilization", "scale-up rate",
		"scale-down rate",
		"min replicas", "max replicas", "min replicas of a schedule", "max replicas of a schedule", "cooldown", "paused",
		"newer samples", "sync period", "first replica", "active metric", "no active metric", "assumed values of pods",
		"fewer pods than replicas", "more pods than replicas", "no ready pod",
	}[l]
}

// Name returns the limit's as a label or a key.
func (l Limit) Name() string {
	return [limits]string{
		"none", "unusable", "maintenance", "tolerance", "stabilization", "scale_up_rate", "scale_down_rate",
		"min_replicas", "max_replicas", "schedule_min_replicas", "schedule_max_replicas", "cooldown", "paused",
		"newer_samples", "sync_period", "first_replica", "active_metric", "inactive", "assumed_values",
		"fewer_pods", "more_pods", "no_ready_pods",
	}[l]
}

// BindingLimit returns the limit that made the decision's count what it is: the last that changed it.
func BindingLimit(d *horizontal.Decision) Limit {
	limit, _ := Binding(d)
	return limit
}

// Binding returns that limit, and the index of the metric that it is about if it is one on what a metric proposes.
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

// afterProposal returns the last limit that changed what was proposed.
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

// ofStabilized returns the window, or what holds the count when the window is over too.
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

// Uses says of each rate policy what it permits and what is used up, in the
// direction that the decision wants to go; none where there are no policies or it
// does not want to go anywhere. The state is the one before the decision.
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
