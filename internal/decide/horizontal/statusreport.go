package horizontal

import (
	"fmt"
	"math"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// The types of the conditions.
const (
	AbleToScale    = "AbleToScale"
	ScalingActive  = "ScalingActive"
	ScalingLimited = "ScalingLimited"
	ScaledToZero   = "ScaledToZero"
)

const unableToCompute = "the HPA was unable to compute the replica count: "

// Report is the decision as conditions, events and reasons (upstream: the messages of
// pkg/controller/podautoscaler/horizontal.go, v1.37.1). The outcome counts only if the
// decision asks for a scale write.
func (d *Decision) Report(outcome Outcome) statusreport.Report {
	r := reporter{d}.report(outcome)
	r.ShowConflict(d.conflict)
	return r
}

// reporter writes a decision's report.
type reporter struct{ *Decision }

func (d reporter) report(outcome Outcome) statusreport.Report {
	var r statusreport.Report
	if d.Branch == BranchNoScale {
		r.Set(AbleToScale, false, "FailedGetScale",
			"the HPA controller was unable to get the target's current scale: "+d.target.Error)
		r.Warn("FailedGetScale", d.target.Error)
		r.Error = d.target.Error
		return r
	}
	r.Counts, r.CurrentReplicas = true, d.Current
	r.ShowMetrics = d.Metrics != nil
	r.Set(AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	d.reportMetricFailures(&r)
	switch d.Branch {
	case BranchDisabled:
		r.Set(ScalingActive, false, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
	case BranchFailed:
		d.reportFailed(&r)
		return r
	case BranchMetrics:
		d.reportComputed(&r)
	case BranchAwaiting:
	default:
		d.reportCorrection(&r)
	}
	if d.Rescale {
		r.Reason = d.reason()
	}
	d.reportOutcome(&r, outcome)
	return r
}

func (d reporter) reportMetricFailures(r *statusreport.Report) {
	for i := range d.Metrics {
		if f := d.Metrics[i].Failure; f != nil {
			r.Warn(f.Reason, f.Message)
		}
	}
}

// reportFailed is for a selector or metrics that cannot be used.
func (d reporter) reportFailed(r *statusreport.Report) {
	switch selector := d.target.Selector; selector.Problem {
	case SelectorFine:
		r.Error = d.metricsError()
		d.setFirstFailure(r)
	case SelectorMissing:
		r.Error = "selector is required"
		r.Warn("SelectorRequired", r.Error)
	default:
		r.Error = selector.Message
		r.Warn(selector.Problem.reason(), r.Error)
	}
	d.setSelector(r)
	r.Warn("FailedComputeMetricsReplicas", r.Error)
}

func (d reporter) setSelector(r *statusreport.Report) {
	message := d.target.Selector.Message
	switch d.target.Selector.Problem {
	case SelectorFine:
		return
	case SelectorMissing:
		message = "the HPA target's scale is missing a selector"
	}
	r.Set(ScalingActive, false, d.target.Selector.Problem.reason(), message)
}

// reason is the reason of the condition ScalingActive.
func (p SelectorProblem) reason() string {
	if p == SelectorAmbiguous {
		return "AmbiguousSelector"
	}
	return "InvalidSelector"
}

func (d reporter) setFirstFailure(r *statusreport.Report) {
	for i := range d.Metrics {
		if f := d.Metrics[i].Failure; f != nil {
			r.Set(ScalingActive, false, f.Reason, unableToCompute+f.Message)
			return
		}
	}
	r.Set(ScalingActive, false, "InvalidMetricSourceType", unableToCompute+"the object names no metric")
}

// metricsError is empty where every metric could be computed.
func (d reporter) metricsError() string {
	for i := range d.Metrics {
		if f := d.Metrics[i].Failure; f != nil {
			return fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: %s", d.Failed, len(d.Metrics), f.Error)
		}
	}
	if len(d.Metrics) == 0 {
		return "invalid metrics: the object names none"
	}
	return ""
}

func (d reporter) reportComputed(r *statusreport.Report) {
	r.Error = d.metricsError()
	r.Set(ScalingActive, true, "ValidMetricFound", d.validMetricMessage())
	// The size matches only if the proposed count is the current one; upstream says so of
	// any proposal that stabilization leaves alone.
	matches := max(0, d.Proposed.Replicas) == d.Current
	switch d.Stabilized.Reason {
	case behavior.ScaleUpStabilized:
		r.Set(AbleToScale, true, "ScaleUpStabilized",
			"recent recommendations were lower than current one, applying the lowest recent recommendation")
	case behavior.ScaleDownStabilized:
		r.Set(AbleToScale, true, "ScaleDownStabilized",
			"recent recommendations were higher than current one, applying the highest recent recommendation")
	case behavior.ReadyForNewScale:
		if matches || !d.policy.Divergences.Has(divergence.AccurateMessages) {
			r.Set(AbleToScale, true, "ReadyForNewScale", "recommended size matches current size")
		}
	}
	limited := d.Limited.Replicas != d.Stabilized.Replicas
	r.Set(ScalingLimited, limited, d.Limited.Reason.String(), d.Limited.Reason.Message())
}

func (d reporter) validMetricMessage() string {
	message := "the HPA was able to successfully calculate a replica count from " + d.metricName(d.Proposed.Index)
	if d.Failed == 0 || !d.policy.Divergences.Has(divergence.AccurateMessages) {
		return message
	}
	var failed []string
	for i := range d.Metrics {
		if d.Metrics[i].Failure != nil {
			failed = append(failed, d.metricName(i))
		}
	}
	return message + ", but not from " + strings.Join(failed, ", ")
}

func (d reporter) metricName(i int) string {
	return d.policy.Metrics[i].Describe(d.policy.Divergences)
}

// reportCorrection makes the conditions true of a count out of range. Upstream
// leaves those of the last decision.
func (d reporter) reportCorrection(r *statusreport.Report) {
	if !d.policy.Divergences.Has(divergence.OutOfRange) {
		return
	}
	d.setSelector(r)
	switch {
	case d.Proposed.Source != proposal.None:
		r.Set(ScalingActive, true, "ValidMetricFound", d.validMetricMessage())
	case len(d.Metrics) > 0:
		d.setFirstFailure(r)
	}
	reason := behavior.TooFewReplicas
	if d.Branch == BranchAboveMax {
		reason = behavior.TooManyReplicas
	}
	r.Set(ScalingLimited, true, reason.String(), reason.Message())
}

// reason is why the replica count changes, for events and logs. It follows from the
// proposed count, before stabilization and limits, as upstream's does.
func (d reporter) reason() string {
	const belowMin = "Current number of replicas below Spec.MinReplicas"
	proposed := max(0, d.Proposed.Replicas)
	switch {
	case d.Branch == BranchMetrics && d.raisedAgainst(proposed):
		if d.Stabilized.Replicas > d.Current {
			return "recent recommendations were higher than the current one"
		}
		return belowMin
	case d.Branch == BranchAboveMax:
		return "Current number of replicas above Spec.MaxReplicas"
	case d.Branch == BranchBelowMin:
		return belowMin
	case d.Branch != BranchMetrics:
		return ""
	case proposed > d.Current:
		return d.metricName(d.Proposed.Index) + " above target" + d.within()
	case proposed < d.Current:
		return "All metrics below target"
	case d.RaisedToMin:
		return belowMin
	default:
		return ""
	}
}

// within is the time in which a surge was seen; empty for other proposals.
func (d reporter) within() string {
	if d.Proposed.Source != proposal.Surge {
		return ""
	}
	return fmt.Sprintf(" in the last %.0f s", math.Round(d.Surge.Span.Seconds()))
}

// raisedAgainst reports whether the count is raised although the proposed count would not
// raise it: an earlier recommendation does, or minReplicas. Upstream then gives no
// reason, or that all metrics are below target.
func (d reporter) raisedAgainst(proposed int32) bool {
	return d.policy.Divergences.Has(divergence.AccurateMessages) && d.Desired > d.Current && proposed <= d.Current
}

func (d reporter) reportOutcome(r *statusreport.Report, outcome Outcome) {
	if !d.Rescale {
		r.DesiredReplicas = &d.Current
		return
	}
	size := fmt.Sprintf("New size: %d; reason: %s", d.Desired, r.Reason)
	if outcome.Error != "" {
		r.Warn("FailedRescale", size+"; error: "+outcome.Error)
		r.Set(AbleToScale, false, "FailedUpdateScale",
			"the HPA controller was unable to update the target scale: "+outcome.Error)
		// Upstream takes the condition through True on the way, at each failure.
		r.Conditions[0].Transitioned = !d.policy.Divergences.Has(divergence.AccurateMessages)
		r.Error = "failed to rescale: " + outcome.Error
		return
	}
	r.Rescaled, r.DesiredReplicas = true, &d.Desired
	r.Set(AbleToScale, true, "SucceededRescale",
		fmt.Sprintf("the HPA controller was able to update the target scale to %d", d.Desired))
	r.Events = append(r.Events, statusreport.Event{Reason: "SuccessfulRescale", Message: size})
	if d.Current > 0 && d.Desired == 0 && d.policy.MinReplicas == 0 && d.policy.seesZero() {
		r.Set(ScaledToZero, true, "ScaledToZero", "the HPA controller scaled the workload to zero")
		return
	}
	r.Set(ScaledToZero, false, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
}
