package horizontal

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// workload is the result of a step, in what only a WorkloadAutoscaler has.
type workload struct{ *Result }

func (r workload) isWorkload() bool { return r.Policy.WorkloadAutoscaler != nil }

// heldText says why mode or refusal prevent the write of the replica count; empty if neither does.
func (r workload) heldText() string {
	d, refusal := &r.Decision, r.Observation.Refusal
	if !r.isWorkload() || d.Rescale || d.Branch == horizontal.BranchNoScale {
		return ""
	}
	switch {
	case refusal.Reason != "":
		return fmt.Sprintf("stay at %d: %s", d.Current, refusal.Message) + r.activeText()
	case d.Branch == horizontal.BranchFailed:
		return ""
	case r.mode() == mode.Preview && d.Desired != d.Current:
		return fmt.Sprintf("stay at %d in mode Preview", d.Current) + r.activeText()
	case r.mode() == mode.Paused:
		return fmt.Sprintf("stay at %d in mode Paused", d.Current) + r.activeText()
	}
	return ""
}

// activeText is what mode Active would lead to, where that differs.
func (r workload) activeText() string {
	d := &r.Decision
	if d.ActiveDesired == d.Desired && d.Desired == d.Current {
		return ""
	}
	text := fmt.Sprintf("; mode Active would scale from %d to %d", d.Current, d.ActiveDesired)
	if d.ActiveDesired == d.Current {
		return fmt.Sprintf("; mode Active would stay at %d", d.Current)
	}
	if r.Report.Reason != "" && d.Branch != horizontal.BranchPaused {
		text += ": " + r.Report.Reason
	}
	return text
}

func (r workload) mode() mode.Mode { return r.Policy.WorkloadAutoscaler.Mode }

// nextHeld is what comes next while the replica count is not written.
func (r workload) nextHeld() string {
	d := &r.Decision
	switch {
	case r.Observation.Refusal.Reason != "":
		return fmt.Sprintf("stays at %d while the WorkloadAutoscaler may not write it", d.Current)
	case d.Rescale:
		return fmt.Sprintf("%d (paused.replicas) at the next decision, then no change until the mode changes", d.Desired)
	}
	return fmt.Sprintf("stays at %d until the mode changes", d.Current)
}

// ifActive begins what comes next in mode Preview.
func (r workload) ifActive() string {
	if r.isWorkload() && r.mode() == mode.Preview {
		return "in mode Active: "
	}
	return ""
}

// followUpText is when the decision may come out otherwise although the metrics stay.
func (r workload) followUpText() string {
	f := &r.FollowUp
	if !r.isWorkload() || f.DecideAt.IsZero() {
		return ""
	}
	at := r.at(f.DecideAt)
	if r.IsHistoryUnknown && (f.Reason == trigger.FallbackDue || f.Reason == trigger.CooldownEnd) {
		at = "by " + at + " at the latest"
	}
	switch f.Reason {
	case trigger.ScheduleStart:
		return fmt.Sprintf("%s: schedule %q starts%s", at, f.Schedule, boundsOf(r.schedule(f.Schedule)))
	case trigger.ScheduleEnd:
		return fmt.Sprintf("%s: schedule %q ends", at, f.Schedule)
	case trigger.RampStart:
		return fmt.Sprintf("%s: the ramp of schedule %q begins", at, f.Schedule)
	case trigger.RampStep:
		return fmt.Sprintf("%s: the ramp of schedule %q goes on", at, f.Schedule)
	case trigger.FallbackDue:
		return fmt.Sprintf("%s: the fallback of %s, if that still cannot be computed", at, r.name(f.Metric))
	case trigger.CooldownEnd:
		return at + ": the cooldown ends, if no metric becomes active"
	default:
		return at + ": scaling up is permitted again"
	}
}

func (r workload) at(t time.Time) string { return summary.Clock(t, r.Decision.At) }

func (r workload) name(i int) string { return r.Policy.Metrics[i].Describe(r.Policy.Divergences) }

// schedule is the one with that name; nil if there is none.
func (r workload) schedule(name string) *schedules.Schedule {
	all := r.Policy.WorkloadAutoscaler.Schedules
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// boundsOf is " with minReplicas 3 and maxReplicas 5".
func boundsOf(s *schedules.Schedule) string {
	var parts []string
	if s != nil && s.MinReplicas > 0 {
		parts = append(parts, fmt.Sprintf("minReplicas %d", s.MinReplicas))
	}
	if s != nil && s.MaxReplicas > 0 {
		parts = append(parts, fmt.Sprintf("maxReplicas %d", s.MaxReplicas))
	}
	if parts == nil {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// writeOwn prints what an HPA has not.
func (r workload) writeOwn(p *output.Page) {
	if !r.isWorkload() {
		return
	}
	d := &r.Decision
	p.Add("mode", "%s", r.modeText())
	p.Add("bounds", "minReplicas %d of %s, maxReplicas %d of %s%s", d.Bounds.MinReplicas, d.Schedules.MinBy.Describe(),
		d.Bounds.MaxReplicas, d.Schedules.MaxBy.Describe(), maxWinsText(&d.Schedules))
	for i := range d.Schedules.InForce {
		p.Add("schedule", "%s", r.inForceText(&d.Schedules.InForce[i]))
	}
	r.writeFallbacks(p)
	if text := r.cooldownText(); text != "" {
		p.Add("cooldown", "%s", text)
	}
	var rows [][]string
	for _, proposed := range d.Proposals(nil) {
		rows = append(rows, []string{fmt.Sprint(proposed.Replicas), proposed.Source.String(), r.proposalName(proposed)})
	}
	p.Table("proposals", rows)
}

func maxWinsText(s *schedules.Result) string {
	if !s.MaxWins {
		return ""
	}
	return "; the highest minReplicas is above the lowest maxReplicas, which is applied"
}

func (r workload) modeText() string {
	switch w := r.Policy.WorkloadAutoscaler; {
	case w.Mode == mode.Preview:
		return "Preview: decides, and writes nothing"
	case w.Mode == mode.Paused && w.PausedReplicas != nil:
		return fmt.Sprintf("Paused: holds the replica count at %d (paused.replicas)", *w.PausedReplicas)
	case w.Mode == mode.Paused:
		return "Paused: keeps the replica count as it is"
	default:
		return "Active"
	}
}

func (r workload) inForceText(f *schedules.InForce) string {
	s := f.Schedule
	if f.IsRamp {
		return fmt.Sprintf("%q ramps since %s until %s: %s", s.Name, r.at(f.Since), r.at(f.Until), rampText(f))
	}
	until := "without an end in sight"
	if !f.Until.IsZero() {
		until = "until " + r.at(f.Until)
	}
	return fmt.Sprintf("%q is in force since %s %s%s", s.Name, r.at(f.Since), until, boundsOf(s))
}

// rampText is how far the bounds of a ramp are: "minReplicas 5 of 20".
func rampText(f *schedules.InForce) string {
	var parts []string
	if f.MinReplicas > 0 {
		parts = append(parts, fmt.Sprintf("minReplicas %d of %d", f.MinReplicas, f.Schedule.MinReplicas))
	}
	if f.MaxReplicas > 0 {
		parts = append(parts, fmt.Sprintf("maxReplicas %d of %d", f.MaxReplicas, f.Schedule.MaxReplicas))
	}
	return strings.Join(parts, ", ")
}

func (r workload) writeFallbacks(p *output.Page) {
	d := &r.Decision
	active := map[int]bool{}
	for _, f := range d.Fallbacks.Active {
		active[f.Metric] = true
		p.Add("fallback", "%s: active, as the metric fails since %s; proposes %d", r.name(f.Metric), r.at(f.Since),
			f.Replicas)
	}
	for i := range d.Metrics {
		spec := &r.Policy.Metrics[i]
		if spec.Fallback.FailureDuration == 0 || active[i] || d.Metrics[i].Failure == nil {
			continue
		}
		p.Add("fallback", "%s: %s", r.name(i), r.dueText(spec, i))
	}
}

// dueText is when the fallback of a metric that fails becomes active.
func (r workload) dueText(spec *source.Spec, i int) string {
	d, replicas := &r.Decision, spec.Fallback.ReplicasAt(r.Decision.Current)
	after := summary.DurationText(spec.Fallback.FailureDuration)
	switch {
	case r.IsHistoryUnknown:
		return fmt.Sprintf("proposes %d once the metric has failed for %s; only the controller knows since when it fails",
			replicas, after)
	case !d.Fallbacks.Due.IsZero() && d.Fallbacks.DueMetric == i:
		return fmt.Sprintf("proposes %d from %s, if the metric still fails", replicas, r.at(d.Fallbacks.Due))
	default:
		return fmt.Sprintf("proposes %d once the metric has failed for %s", replicas, after)
	}
}

// cooldownText says whether the last replica may go; empty where that cannot be.
func (r workload) cooldownText() string {
	z := &r.Decision.Zero
	switch {
	case !z.IsPossible || !r.hasActivation():
		return ""
	case z.IsActive:
		return r.name(z.Metric) + " is active, so the target has a replica at least"
	case r.Decision.Current == 0 && r.isActivityUnknown():
		return "whether a metric is active is not known, so the target stays without replicas"
	case r.Decision.Current == 0:
		return "no metric is active, so the target stays without replicas"
	case r.IsHistoryUnknown && r.isActivityUnknown():
		return "whether a metric is active is not known here, so the last replica may stay"
	case r.IsHistoryUnknown:
		return fmt.Sprintf("no metric is active; only the controller knows since when, and the last replica may go after %s",
			summary.DurationText(r.Policy.WorkloadAutoscaler.Zero.CooldownPeriod))
	case z.CooldownEnd.IsZero():
		return "a metric that cannot be computed may be active, so the last replica stays"
	case z.IsCooledDown:
		return fmt.Sprintf("over since %s: no metric is active, and the last replica may go", r.at(z.CooldownEnd))
	default:
		return fmt.Sprintf("the last replica may go at %s, if no metric becomes active", r.at(z.CooldownEnd))
	}
}

// isActivityUnknown reports whether a metric that may be active has no value.
func (r workload) isActivityUnknown() bool {
	for i := range r.Policy.Metrics {
		result := &r.Decision.Metrics[i]
		isRead := !result.Pending && result.Failure == nil || result.Activity != metric.ActivityUnknown
		if r.Policy.Metrics[i].HasValueWithoutPods() && !isRead {
			return true
		}
	}
	return false
}

func (r workload) hasActivation() bool {
	for i := range r.Policy.Metrics {
		if r.Policy.Metrics[i].HasValueWithoutPods() {
			return true
		}
	}
	return false
}

func (r workload) cooldownLimit() string {
	z := &r.Decision.Zero
	switch {
	case z.IsActive:
		return "an active metric, which needs a replica at least"
	case z.CooldownEnd.IsZero():
		return "a metric that may be active and cannot be computed: the last replica stays"
	case z.IsCooledDown:
		return "the last replica, which goes once the count has come down to it"
	case r.IsHistoryUnknown:
		return "cooldown: the last replica stays"
	default:
		return fmt.Sprintf("cooldown: the last replica stays until %s", r.at(z.CooldownEnd))
	}
}

// proposalName is the metric or the schedule that proposes; empty for a forecast, which is of all metrics.
func (r workload) proposalName(p proposal.Proposal) string {
	switch p.Source {
	case proposal.Forecast:
		return ""
	case proposal.Schedule:
		return fmt.Sprintf("%q", r.Decision.Schedules.InForce[p.Index].Schedule.Name)
	}
	return r.name(p.Index)
}
