package statusreport

import (
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// The types of the conditions that a WorkloadAutoscaler has beyond an HPA's. They are absent until they are first True.
const (
	ScheduleActive = "ScheduleActive"
	FallbackActive = "FallbackActive"
)

// extend adds the parts of the report that an HPA does not have.
func (d reported) extend(r *Report) {
	r.Rename("WorkloadAutoscaler")
	if d.Branch != horizontal.BranchNoScale {
		d.extendDecided(r)
	}
	if d.Refusal.Reason != "" {
		d.reportRefusal(r)
	}
}

// reportRefusal reports why the object does not act. Another autoscaler of the target is no fault beside a preview,
// which is compared with it, as in each migration, and where it is expected: AbleToScale is True then. If the target
// cannot be read, AbleToScale is False for that reason.
func (d reported) reportRefusal(r *Report) {
	isPreview := d.Policy.WorkloadAutoscaler.Mode == mode.Preview
	isBeside := d.Refusal.Reason == AnotherAutoscaler
	isFine := isBeside && (isPreview || d.Refusal.IsExpected)
	if !isFine {
		r.Warn(d.Refusal.Reason, d.Refusal.Message)
	}
	switch {
	case isBeside && d.Branch == horizontal.BranchNoScale:
	case isFine:
		r.Set(AbleToScale, true, AnotherAutoscaler, d.Refusal.Message)
	default:
		r.Set(AbleToScale, false, d.Refusal.Reason, d.Refusal.Message)
	}
}

// extendDecided extends the report of a decision whose target could be read.
func (d reported) extendDecided(r *Report) {
	isActive, reason, message := d.Schedules.Condition()
	r.Show(ScheduleActive, isActive, d.Shown.ScheduleActive, reason, message)
	if d.Metrics != nil || d.Branch == horizontal.BranchDisabled {
		d.reportFallbacks(r)
	}
	if d.Shown.LimitedByPause && d.Mode() != mode.Paused && !r.has(ScalingLimited) {
		// Not every decision sets it.
		r.Set(ScalingLimited, false, behavior.DesiredWithinRange.String(), behavior.DesiredWithinRange.Message())
	}
	if d.Mode() == mode.Active || d.Rescale && d.writeError != "" {
		return
	}
	r.DesiredReplicas = &d.Decision.Desired
	if d.Rescale {
		return
	}
	r.DesiredReplicas = &d.Decision.ActiveDesired
}

func (d reported) reportFallbacks(r *Report) {
	set := d.Policy.Divergences
	var texts []string
	for _, f := range d.Fallbacks.Active {
		texts = append(texts, fallback.Text(&d.Policy.Metrics[f.Metric], set))
	}
	if texts == nil {
		r.Show(FallbackActive, false, d.Shown.FallbackActive, "NoFallbackActive", "no fallback is active")
	} else {
		r.Set(FallbackActive, true, "MetricUnavailable", strings.Join(texts, "; "))
	}
	for _, i := range d.Fallbacks.Began {
		r.Warn("FallbackActivated", fallback.Text(&d.Policy.Metrics[i], set))
	}
	for _, i := range d.Fallbacks.Ended {
		r.Events = append(r.Events, Event{
			Reason: "FallbackDeactivated", Message: "the fallback of " + d.name(i) + " has ended",
		})
	}
}

// setSource sets the source of the replica count.
func (d reported) setSource(r *Report) {
	from := d.Proposed
	if from.Source == proposal.Fallback || from.Source == proposal.Metric && !d.isComputed(from.Index) {
		from = proposal.OfMetrics(d.Metrics, false)
	}
	switch from.Source {
	case proposal.Schedule:
		r.Error = ""
		r.Set(ScalingActive, true, "NoMetrics", "the object names no metric: schedules alone ask for replicas")
	case proposal.None:
		d.setFirstFailure(r)
	default:
		r.Set(ScalingActive, true, "ValidMetricFound", d.validMetricFound(from.Index))
	}
}

// isComputed reports whether metric i has a value. Without one it may still be active, and propose the first replica.
func (d reported) isComputed(i int) bool { return d.Metrics[i].Failure == nil && !d.Metrics[i].Pending }

func (d reported) reportPaused(r *Report) {
	d.setSelector(r)
	switch {
	case !d.Target.Selector.IsFine():
	case d.Proposed.Source != proposal.None:
		r.Error = d.errorText()
		d.setSource(r)
	case len(d.Metrics) > 0:
		r.Error = d.errorText()
		d.setFirstFailure(r)
	}
	r.Set(ScalingLimited, true, mode.Paused.String(), "the mode is Paused: no proposal changes the replica count")
}

// limitMessage returns the message of the limit, with the schedule or the cooldown that causes it.
func (d reported) limitMessage(reason behavior.LimitReason) string {
	switch by := d.Schedules; {
	case reason == behavior.TooFewReplicas && d.Zero.IsPossible && d.Current > 0:
		return "the last replica stays until no metric has been active for the cooldown period"
	case reason == behavior.TooFewReplicas && by.MinBy != nil:
		return "the desired replica count is less than the minReplicas of " + by.MinBy.Describe()
	case reason == behavior.TooManyReplicas && by.MaxBy != nil:
		return "the desired replica count is more than the maxReplicas of " + by.MaxBy.Describe()
	}
	return reason.Message()
}
