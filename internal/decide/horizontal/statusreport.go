package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// stages are what is reported of the branches.
var stages = [...]statusreport.Stage{
	BranchNoScale: statusreport.NoScale, BranchDisabled: statusreport.Disabled, BranchAboveMax: statusreport.AboveMax,
	BranchBelowMin: statusreport.BelowMin, BranchFailed: statusreport.Failed, BranchMetrics: statusreport.Computed,
	BranchAwaiting: statusreport.Awaiting, BranchPaused: statusreport.Paused,
}

// Report is the decision as conditions, events and reasons. The outcome counts only if the
// decision asks for a scale write.
func (d *Decision) Report(outcome Outcome) statusreport.Report {
	p := d.policy
	r := statusreport.Of(&statusreport.Input{
		Metrics: statusreport.Metrics{Specs: p.Metrics, Results: d.Metrics, Divergences: p.Divergences},
		Stage:   stages[d.Branch], Mode: d.mode(), IsWorkloadAutoscaler: p.WorkloadAutoscaler != nil,
		MayBeZero:  p.WorkloadAutoscaler != nil || p.MinReplicas == 0 && zero.IsSeen(p.Metrics),
		ScaleError: d.target.Error, Selector: d.target.Selector.Report(),
		Current: &d.Current, Desired: &d.Desired, ActiveDesired: &d.ActiveDesired, Rescale: d.Rescale, Proposed: d.Proposed,
		Surge: &d.Surge, Stabilized: &d.Stabilized, Limited: &d.Limited, Ahead: d.ForecastReplicas,
		RaisedToMin: d.RaisedToMin,
		Schedules:   &d.Schedules, Fallbacks: &d.Fallbacks, Zero: &d.Zero, Shown: d.shown, Refusal: d.refusal,
		IsScaledToZero: d.isScaledToZero, IsOwnZero: d.isOwnZero, WriteError: outcome.Error,
	})
	r.ShowConflict(d.conflict)
	if p.ForecastProblem != "" {
		r.Warn("InvalidForecast", p.ForecastProblem)
	}
	return r
}
