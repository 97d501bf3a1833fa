package statusreport

import (
	"fmt"
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// reason returns why the replica count changes, for events and logs. It follows from the proposed count, before
// stabilization and limits, as upstream's does.
func (d reported) reason() string {
	belowMin := belowBound(d.Schedules.MinBy)
	proposed := max(0, d.Proposed.Replicas)
	if text := d.ownReason(); text != "" {
		return text
	}
	switch {
	case d.Branch == horizontal.BranchMetrics && d.raisedAgainst(proposed):
		if d.Stabilized.Replicas > d.Current {
			return "recent recommendations were higher than the current one"
		}
		return belowMin
	case d.Branch == horizontal.BranchAboveMax:
		return aboveBound(d.Schedules.MaxBy)
	case d.Branch == horizontal.BranchBelowMin:
		return belowMin
	case d.Branch != horizontal.BranchMetrics:
		return ""
	case proposed > d.Current:
		return d.name(d.Proposed.Index) + " above target" + d.within()
	case proposed < d.Current:
		return "All metrics below target"
	case d.RaisedToMin:
		return belowMin
	default:
		return ""
	}
}

// within returns the time in which a surge appeared; empty for other proposals.
func (d reported) within() string {
	if d.Proposed.Source != proposal.Surge {
		return ""
	}
	return fmt.Sprintf(" in the last %.0f s", math.Round(d.Surge.Span.Seconds()))
}

// raisedAgainst reports whether the count rises although the proposal alone would not raise it: because of an earlier
// recommendation, or minReplicas. Upstream then gives no reason, or that all metrics are below target.
func (d reported) raisedAgainst(proposed int32) bool {
	return d.Policy.Divergences.Has(divergence.AccurateMessages) && d.Desired > d.Current && proposed <= d.Current
}

// ownReason returns why the replica count changes if it would not for an HPA; otherwise empty.
func (d reported) ownReason() string {
	switch {
	case d.Branch == horizontal.BranchPaused:
		return "spec.paused.replicas while the mode is Paused"
	case d.Branch != horizontal.BranchMetrics:
		return ""
	case d.ForecastReplicas > d.Current && d.Desired > d.Current:
		return "forecast of the load of earlier days"
	case d.Zero.IsCooledDown && d.Desired == 0:
		return "no metric active for the cooldown period"
	case d.Zero.IsActive && d.Current == 0 && d.Proposed.Source == proposal.Metric:
		return d.name(d.Proposed.Index) + " is active"
	case d.Proposed.Source == proposal.Schedule:
		return "no schedule in force asks for more"
	case d.Proposed.Source == proposal.Fallback && (d.Proposed.Replicas > d.Current) == (d.Desired > d.Current):
		return "fallback of " + d.name(d.Proposed.Index)
	}
	return ""
}

func belowBound(by *schedules.Schedule) string {
	if by == nil {
		return "Current number of replicas below Spec.MinReplicas"
	}
	return "Current number of replicas below minReplicas of " + by.Describe()
}

func aboveBound(by *schedules.Schedule) string {
	if by == nil {
		return "Current number of replicas above Spec.MaxReplicas"
	}
	return "Current number of replicas above maxReplicas of " + by.Describe()
}
