package projection

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/verdict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// Limit is one of the limits on the way from the metrics to a count.
type Limit uint8

// The limits, in the order in which a decision meets them.
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
)

// String is what an explanation calls the limit.
func (l Limit) String() string {
	return [...]string{
		"nothing", "unusable input", "maintenance (0 replicas)", "tolerance", "stabilization", "scale-up rate",
		"scale-down rate",
		"min replicas", "max replicas", "min replicas of a schedule", "max replicas of a schedule", "cooldown", "paused",
	}[l]
}

// Name is the limit's as a label or a key.
func (l Limit) Name() string {
	return [...]string{
		"none", "unusable", "maintenance", "tolerance", "stabilization", "scale_up_rate", "scale_down_rate",
		"min_replicas", "max_replicas", "schedule_min_replicas", "schedule_max_replicas", "cooldown", "paused",
	}[l]
}

// BindingLimit is the limit that made the decision's count what it is: the last that
// changed it.
func BindingLimit(d *horizontal.Decision) Limit {
	switch d.Branch {
	case horizontal.BranchDisabled:
		return Maintenance
	case horizontal.BranchAboveMax:
		return maxOf(d)
	case horizontal.BranchBelowMin:
		return minOf(d)
	case horizontal.BranchPaused:
		return Paused
	case horizontal.BranchMetrics:
		return bindsMetrics(d)
	default:
		return Unusable
	}
}

func bindsMetrics(d *horizontal.Decision) Limit {
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
	case d.Ahead > 0:
		return None
	case d.Stabilized.Reason != behavior.ReadyForNewScale:
		return Stabilization
	case d.Proposed.Source == proposal.Schedule:
		return None
	case d.Metrics[d.Proposed.Index].Verdict == verdict.WithinTolerance:
		return Tolerance
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
	proposed := max(d.Stabilized.Replicas, d.Ahead)
	if d.Branch != horizontal.BranchMetrics || proposed == d.Current {
		return nil
	}
	w := newWalk(p, s, d, 0)
	past := w.state.History()
	return behavior.Uses(&w.limits, &past, behavior.Proposed{Now: d.At, Current: d.Current, Replicas: proposed},
		proposed > d.Current)
}
