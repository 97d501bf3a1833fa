package statusreport

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// Stage is how far a decision came, which says what is reported of it.
type Stage uint8

// The stages. Those of package horizontal, whose branches they are, say more of each.
const (
	NoScale Stage = iota
	Disabled
	AboveMax
	BelowMin
	Failed
	Computed
	Awaiting
	Paused
)

// Input is a decision and what became of its scale write.
type Input struct {
	Metrics
	Stage Stage
	Mode  mode.Mode
	// IsWorkloadAutoscaler says that the object is no HPA, MayBeZero that zero replicas are an ordinary count of its
	// target.
	IsWorkloadAutoscaler, MayBeZero bool
	// ScaleError is why there is no scale, and Selector what is wrong with its selector.
	ScaleError string
	Selector   Selector
	// Current and Desired are the replica counts, which the report points to.
	Current, Desired, ActiveDesired *int32
	Rescale                         bool
	Proposed                        proposal.Proposal
	Surge                           *surge.Result
	Stabilized                      *behavior.Stabilized
	Limited                         *behavior.Limited
	// Ahead is the count that the forecast raised the stabilized one to; 0 if it did not.
	Ahead       int32
	RaisedToMin bool
	Schedules   *schedules.Result
	Fallbacks   *fallback.Result
	Zero        *zero.Result
	Shown       Shown
	Refusal     Refusal
	// IsScaledToZero is the status of the condition before the decision.
	IsScaledToZero bool
	// IsOwnZero says that a target without replicas has none because of the object.
	IsOwnZero bool
	// WriteError is why the scale could not be written.
	WriteError string
}

// Selector is what is wrong with a selector; the zero value is nothing.
type Selector struct {
	// Reason and Message are the condition's, Event is the event's reason, and Error its message.
	Reason, Message, Event, Error string
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

// Of is the decision as conditions, events and reasons (upstream: the messages of
// pkg/controller/podautoscaler/horizontal.go, v1.37.1).
func Of(d *Input) Report {
	r := d.report()
	d.keepScaledToZero(&r)
	d.endScaledToZero(&r)
	if d.IsWorkloadAutoscaler {
		d.extend(&r)
	}
	return r
}

func (d *Input) report() Report {
	var r Report
	if d.Stage == NoScale {
		r.Set(AbleToScale, false, "FailedGetScale",
			"the HPA controller was unable to get the target's current scale: "+d.ScaleError)
		r.Warn("FailedGetScale", d.ScaleError)
		r.Error = d.ScaleError
		return r
	}
	r.Counts, r.CurrentReplicas = true, *d.Current
	r.ShowMetrics = d.Results != nil
	r.Set(AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	d.WarnOfFailures(&r)
	switch d.Stage {
	case Disabled:
		r.Set(ScalingActive, false, scalingDisabled, "scaling is disabled since the replica count of the target is zero")
	case Failed:
		d.reportFailed(&r)
		return r
	case Computed:
		d.reportComputed(&r)
	case Awaiting:
	case Paused:
		d.reportPaused(&r)
	default:
		d.reportCorrection(&r)
	}
	if d.Rescale || d.Mode == mode.Preview && *d.Desired != *d.Current {
		r.Reason = d.reason()
	}
	d.reportOutcome(&r)
	return r
}

// reportFailed is for a selector or metrics that cannot be used.
func (d *Input) reportFailed(r *Report) {
	if d.Selector.Reason == "" {
		r.Error = d.ErrorText()
		d.setFirstFailure(r)
	} else {
		r.Error = d.Selector.Error
		r.Warn(d.Selector.Event, r.Error)
	}
	d.setSelector(r)
	r.Warn("FailedComputeMetricsReplicas", r.Error)
}

func (d *Input) setSelector(r *Report) {
	if d.Selector.Reason != "" {
		r.Set(ScalingActive, false, d.Selector.Reason, d.Selector.Message)
	}
}

func (d *Input) setFirstFailure(r *Report) {
	if f := d.FirstFailure(); f != nil {
		r.Set(ScalingActive, false, f.Reason, unableToCompute+f.Message)
		return
	}
	if d.IsWorkloadAutoscaler && len(d.Results) > 0 {
		// All are awaited: the condition stays as it is.
		return
	}
	r.Set(ScalingActive, false, "InvalidMetricSourceType", unableToCompute+"the object names no metric")
}

func (d *Input) reportComputed(r *Report) {
	r.Error = d.ErrorText()
	d.setSource(r)
	// The size matches only if the proposed count is the current one; upstream says so of
	// any proposal that stabilization leaves alone.
	matches := max(0, d.Proposed.Replicas) == *d.Current
	switch reason := d.Stabilized.Reason; {
	case d.Ahead > 0:
		r.Set(AbleToScale, true, "ForecastApplied",
			"the forecast asks for more replicas than the metrics, applying the forecast")
	case reason == behavior.ScaleUpStabilized:
		r.Set(AbleToScale, true, "ScaleUpStabilized",
			"recent recommendations were lower than current one, applying the lowest recent recommendation")
	case reason == behavior.ScaleDownStabilized:
		r.Set(AbleToScale, true, "ScaleDownStabilized",
			"recent recommendations were higher than current one, applying the highest recent recommendation")
	case matches || !d.Divergences.Has(divergence.AccurateMessages):
		r.Set(AbleToScale, true, "ReadyForNewScale", "recommended size matches current size")
	}
	limited := d.Limited.Replicas != max(d.Stabilized.Replicas, d.Ahead) && d.Limited.Reason != behavior.DesiredWithinRange
	r.Set(ScalingLimited, limited, d.Limited.Reason.String(), d.limitMessage(d.Limited.Reason))
}

// reportCorrection makes the conditions true of a count out of range. Upstream
// leaves those of the last decision.
func (d *Input) reportCorrection(r *Report) {
	if !d.Divergences.Has(divergence.OutOfRange) {
		return
	}
	d.setSelector(r)
	switch {
	case d.Proposed.Source != proposal.None:
		d.setSource(r)
	case len(d.Results) > 0:
		d.setFirstFailure(r)
	}
	reason := behavior.TooFewReplicas
	switch {
	case d.Stage == AboveMax && d.Limited.Reason == behavior.ScaleDownLimit:
		reason = behavior.ScaleDownLimit
	case d.Stage == AboveMax:
		reason = behavior.TooManyReplicas
	}
	r.Set(ScalingLimited, true, reason.String(), d.limitMessage(reason))
}

func (d *Input) reportOutcome(r *Report) {
	if !d.Rescale {
		r.DesiredReplicas = d.Current
		return
	}
	size := fmt.Sprintf("New size: %d; reason: %s", *d.Desired, r.Reason)
	if d.WriteError != "" {
		r.Warn("FailedRescale", size+"; error: "+d.WriteError)
		r.Set(AbleToScale, false, "FailedUpdateScale",
			"the HPA controller was unable to update the target scale: "+d.WriteError)
		// Upstream takes the condition through True on the way, at each failure.
		r.Conditions[0].Transitioned = !d.Divergences.Has(divergence.AccurateMessages)
		r.Error = "failed to rescale: " + d.WriteError
		return
	}
	r.Rescaled, r.DesiredReplicas = true, d.Desired
	r.Set(AbleToScale, true, "SucceededRescale",
		fmt.Sprintf("the HPA controller was able to update the target scale to %d", *d.Desired))
	r.Events = append(r.Events, Event{Reason: "SuccessfulRescale", Message: size})
	if *d.Current > 0 && *d.Desired == 0 && d.MayBeZero {
		r.Set(ScaledToZero, true, "ScaledToZero", "the HPA controller scaled the workload to zero")
		return
	}
	r.Set(ScaledToZero, false, "NotScaledToZero", notScaledToZero)
}

// keepScaledToZero sets the condition where it should be True and is not: the status write after the scale write was
// lost. Without it the target would stay at zero once more replicas are asked for.
func (d *Input) keepScaledToZero(r *Report) {
	if d.IsOwnZero && !d.IsScaledToZero && *d.Current == 0 && *d.Desired == 0 && d.Stage != NoScale {
		r.Set(ScaledToZero, true, "ScaledToZero", "the workload is at zero replicas because of this object")
	}
}

// endScaledToZero ends the condition where another writer has scaled the target up: if they scale it to zero later,
// that is not this controller's doing. Upstream leaves the condition until it writes the scale itself.
func (d *Input) endScaledToZero(r *Report) {
	if d.IsScaledToZero && d.Stage != NoScale && *d.Current > 0 && *d.Desired > 0 && !r.Rescaled &&
		d.Divergences.Has(divergence.ZeroCondition) {
		r.Set(ScaledToZero, false, "NotScaledToZero", notScaledToZero)
	}
}
