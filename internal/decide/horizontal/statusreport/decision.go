package statusreport

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// reported is a decision to report, and the outcome of its scale write.
type reported struct {
	*horizontal.Decision
	writeError string
}

// The types of the conditions.
const (
	AbleToScale    = "AbleToScale"
	ScalingActive  = "ScalingActive"
	ScalingLimited = "ScalingLimited"
	ScaledToZero   = "ScaledToZero"
)

const notScaledToZero = "the HPA controller did not scale the workload to zero"

const unableToCompute = "the HPA was unable to compute the replica count: "

// Of returns the conditions, events and reasons of the decision (upstream: the messages of
// pkg/controller/podautoscaler/horizontal.go, v1.37.1). The outcome counts only if the decision asks for a scale write.
// The report points into the decision.
func Of(decision *horizontal.Decision, outcome horizontal.Outcome) Report {
	d := reported{decision, outcome.Error}
	r := d.report()
	d.keepScaledToZero(&r)
	d.endScaledToZero(&r)
	if d.Policy.WorkloadAutoscaler != nil {
		d.extend(&r)
	}
	r.showConflict(d.Conflict)
	if d.Policy.ForecastProblem != "" {
		r.Warn("InvalidForecast", d.Policy.ForecastProblem)
	}
	return r
}

func (d reported) report() Report {
	var r Report
	if d.Branch == horizontal.BranchNoScale {
		r.Set(AbleToScale, false, "FailedGetScale",
			"the HPA controller was unable to get the target's current scale: "+d.Target.Error)
		r.Warn("FailedGetScale", d.Target.Error)
		r.Error = d.Target.Error
		return r
	}
	r.Counts, r.CurrentReplicas = true, d.Current
	r.ShowMetrics = d.Metrics != nil
	r.Set(AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	d.warnOfFailures(&r)
	switch d.Branch {
	case horizontal.BranchDisabled:
		r.Set(ScalingActive, false, scalingDisabled, "scaling is disabled since the replica count of the target is zero")
	case horizontal.BranchFailed:
		d.reportFailed(&r)
		return r
	case horizontal.BranchMetrics:
		d.reportComputed(&r)
	case horizontal.BranchAwaiting:
	case horizontal.BranchPaused:
		d.reportPaused(&r)
	default:
		d.reportCorrection(&r)
	}
	if d.Rescale || d.Mode() == mode.Preview && d.Desired != d.Current {
		r.Reason = d.reason()
	}
	d.reportOutcome(&r)
	return r
}

// reportFailed is for a selector or metrics that cannot be used.
func (d reported) reportFailed(r *Report) {
	if d.Target.Selector.IsFine() {
		r.Error = d.errorText()
		d.setFirstFailure(r)
	} else {
		selector := selectorOf(d.Target.Selector)
		r.Error = selector.error
		r.Warn(selector.event, r.Error)
	}
	d.setSelector(r)
	r.Warn("FailedComputeMetricsReplicas", r.Error)
}

func (d reported) setSelector(r *Report) {
	if !d.Target.Selector.IsFine() {
		selector := selectorOf(d.Target.Selector)
		r.Set(ScalingActive, false, selector.reason, selector.message)
	}
}

func (d reported) setFirstFailure(r *Report) {
	if f := d.firstFailure(); f != nil {
		r.Set(ScalingActive, false, f.Reason, unableToCompute+f.Message)
		return
	}
	if d.Policy.WorkloadAutoscaler != nil && len(d.Metrics) > 0 {
		// All values are awaited: keep the condition.
		return
	}
	r.Set(ScalingActive, false, "InvalidMetricSourceType", unableToCompute+"the object names no metric")
}

func (d reported) reportComputed(r *Report) {
	r.Error = d.errorText()
	d.setSource(r)
	// The size matches only if the proposed count is the current one; upstream reports it for any proposal that
	// stabilization does not change.
	matches := max(0, d.Proposed.Replicas) == d.Current
	switch reason := d.Stabilized.Reason; {
	case d.ForecastReplicas > 0:
		r.Set(AbleToScale, true, "ForecastApplied",
			"the forecast asks for more replicas than the metrics, applying the forecast")
	case reason == behavior.ScaleUpStabilized:
		r.Set(AbleToScale, true, "ScaleUpStabilized",
			"recent recommendations were lower than current one, applying the lowest recent recommendation")
	case reason == behavior.ScaleDownStabilized:
		r.Set(AbleToScale, true, "ScaleDownStabilized",
			"recent recommendations were higher than current one, applying the highest recent recommendation")
	case matches || !d.Policy.Divergences.Has(divergence.AccurateMessages):
		r.Set(AbleToScale, true, "ReadyForNewScale", "recommended size matches current size")
	}
	limited := d.Limited.Reason != behavior.DesiredWithinRange &&
		d.Limited.Replicas != max(d.Stabilized.Replicas, d.ForecastReplicas)
	r.Set(ScalingLimited, limited, d.Limited.Reason.String(), d.limitMessage(d.Limited.Reason))
}

// reportCorrection sets the conditions for a count out of range. Upstream keeps those of the last decision.
func (d reported) reportCorrection(r *Report) {
	if !d.Policy.Divergences.Has(divergence.OutOfRange) {
		return
	}
	d.setSelector(r)
	switch {
	case d.Proposed.Source != proposal.None:
		d.setSource(r)
	case len(d.Metrics) > 0:
		d.setFirstFailure(r)
	}
	reason := behavior.TooFewReplicas
	switch {
	case d.Branch == horizontal.BranchAboveMax && d.Limited.Reason == behavior.ScaleDownLimit:
		reason = behavior.ScaleDownLimit
	case d.Branch == horizontal.BranchAboveMax:
		reason = behavior.TooManyReplicas
	}
	r.Set(ScalingLimited, true, reason.String(), d.limitMessage(reason))
}

func (d reported) reportOutcome(r *Report) {
	if !d.Rescale {
		r.DesiredReplicas = &d.Decision.Current
		return
	}
	size := fmt.Sprintf("New size: %d; reason: %s", d.Desired, r.Reason)
	if d.writeError != "" {
		r.Warn("FailedRescale", size+"; error: "+d.writeError)
		r.Set(AbleToScale, false, "FailedUpdateScale",
			"the HPA controller was unable to update the target scale: "+d.writeError)
		// Upstream sets the condition True in between, at each failure.
		r.Conditions[0].Transitioned = !d.Policy.Divergences.Has(divergence.AccurateMessages)
		r.Error = "failed to rescale: " + d.writeError
		return
	}
	r.Rescaled, r.DesiredReplicas = true, &d.Decision.Desired
	r.Set(AbleToScale, true, "SucceededRescale",
		fmt.Sprintf("the HPA controller was able to update the target scale to %d", d.Desired))
	r.Events = append(r.Events, Event{Reason: "SuccessfulRescale", Message: size})
	if d.Current > 0 && d.Desired == 0 && d.mayBeZero() {
		r.Set(ScaledToZero, true, "ScaledToZero", "the HPA controller scaled the workload to zero")
		return
	}
	r.Set(ScaledToZero, false, "NotScaledToZero", notScaledToZero)
}

// keepScaledToZero sets the condition if the status write after the scale write was lost. Without it the target would
// stay at zero when more replicas are proposed.
func (d reported) keepScaledToZero(r *Report) {
	if d.IsOwnZero && !d.IsScaledToZero && d.Current == 0 && d.Desired == 0 && d.Branch != horizontal.BranchNoScale {
		r.Set(ScaledToZero, true, "ScaledToZero", "the workload is at zero replicas because of this object")
	}
}

// endScaledToZero ends the condition after another writer has scaled the target up: if they scale it to zero later,
// this controller has not done that. Upstream keeps the condition until it writes the scale itself.
func (d reported) endScaledToZero(r *Report) {
	if d.IsScaledToZero && d.Branch != horizontal.BranchNoScale && d.Current > 0 && d.Desired > 0 && !r.Rescaled &&
		d.Policy.Divergences.Has(divergence.ZeroCondition) {
		r.Set(ScaledToZero, false, "NotScaledToZero", notScaledToZero)
	}
}

// mayBeZero reports whether zero replicas are an ordinary count of the target.
func (d reported) mayBeZero() bool {
	p := d.Policy
	return p.WorkloadAutoscaler != nil || p.MinReplicas == 0 && zero.IsSeen(p.Metrics)
}
