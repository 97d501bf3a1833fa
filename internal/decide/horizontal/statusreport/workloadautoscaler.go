package statusreport

import (
	"strings"

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

// extend adds to an HPA's report what a WorkloadAutoscaler has beyond it.
func (d *Input) extend(r *Report) {
	r.Rename("WorkloadAutoscaler")
	if d.Stage != NoScale {
		d.extendDecided(r)
	}
	if d.Refusal.Reason != "" {
		r.Set(AbleToScale, false, d.Refusal.Reason, d.Refusal.Message)
		r.Warn(d.Refusal.Reason, d.Refusal.Message)
	}
}

// extendDecided adds to the report of a decision whose target could be read.
func (d *Input) extendDecided(r *Report) {
	isActive, reason, message := d.Schedules.Condition()
	r.Show(ScheduleActive, isActive, d.Shown.ScheduleActive, reason, message)
	if d.Results != nil || d.Stage == Disabled {
		d.reportFallbacks(r)
	}
	if d.Shown.LimitedByPause && d.Mode != mode.Paused && !r.has(ScalingLimited) {
		// Not every decision says something else of it.
		r.Set(ScalingLimited, false, behavior.DesiredWithinRange.String(), behavior.DesiredWithinRange.Message())
	}
	if d.Mode == mode.Active || d.Rescale && d.WriteError != "" {
		return
	}
	r.DesiredReplicas = d.Desired
	if d.Rescale {
		return
	}
	r.DesiredReplicas = d.ActiveDesired
}

func (d *Input) reportFallbacks(r *Report) {
	set := d.Divergences
	var texts []string
	for _, f := range d.Fallbacks.Active {
		texts = append(texts, fallback.Text(&d.Specs[f.Metric], set))
	}
	if texts == nil {
		r.Show(FallbackActive, false, d.Shown.FallbackActive, "NoFallbackActive", "no fallback is active")
	} else {
		r.Set(FallbackActive, true, "MetricUnavailable", strings.Join(texts, "; "))
	}
	for _, i := range d.Fallbacks.Began {
		r.Warn("FallbackActivated", fallback.Text(&d.Specs[i], set))
	}
	for _, i := range d.Fallbacks.Ended {
		r.Events = append(r.Events, Event{
			Reason: "FallbackDeactivated", Message: "the fallback of " + d.Name(i) + " has ended",
		})
	}
}

// setSource says what the replica count comes from.
func (d *Input) setSource(r *Report) {
	from := d.Proposed
	if from.Source == proposal.Fallback || from.Source == proposal.Metric && !d.isComputed(from.Index) {
		from = proposal.OfMetrics(d.Results, false)
	}
	switch from.Source {
	case proposal.Schedule:
		r.Error = ""
		r.Set(ScalingActive, true, "NoMetrics", "the object names no metric: schedules alone ask for replicas")
	case proposal.None:
		d.setFirstFailure(r)
	default:
		r.Set(ScalingActive, true, "ValidMetricFound", d.ValidMetricFound(from.Index))
	}
}

// isComputed reports whether metric i has a value. Without one it may still be active, and propose the first replica.
func (d *Input) isComputed(i int) bool { return d.Results[i].Failure == nil && !d.Results[i].Pending }

func (d *Input) reportPaused(r *Report) {
	d.setSelector(r)
	switch {
	case d.Selector.Reason != "":
	case d.Proposed.Source != proposal.None:
		r.Error = d.ErrorText()
		d.setSource(r)
	case len(d.Results) > 0:
		r.Error = d.ErrorText()
		d.setFirstFailure(r)
	}
	r.Set(ScalingLimited, true, mode.Paused.String(), "the mode is Paused: no proposal changes the replica count")
}

// limitMessage names the schedule or the cooldown where the limit is theirs.
func (d *Input) limitMessage(reason behavior.LimitReason) string {
	switch by := d.Schedules; {
	case reason == behavior.TooFewReplicas && d.Zero.IsPossible && *d.Current > 0:
		return "the last replica stays until no metric has been active for the cooldown period"
	case reason == behavior.TooFewReplicas && by.MinBy != nil:
		return "the desired replica count is less than the minReplicas of " + by.MinBy.Describe()
	case reason == behavior.TooManyReplicas && by.MaxBy != nil:
		return "the desired replica count is more than the maxReplicas of " + by.MaxBy.Describe()
	}
	return reason.Message()
}
