package workloadstatus

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// widestWhy is the maximum width of the column WHY: a line of kubectl get then fits in 120. The message of the
// condition Ready is not cut.
const widestWhy = 31

// cut returns a text in a width.
func cut(text string, width int) string {
	const more = "..."
	if len(text) <= width {
		return text
	}
	return strings.ToValidUTF8(text[:width-len(more)], "") + more
}

// why returns the text of the column WHY, in a few words: why the object does not act, or what determined the count.
func (w *Decided) why() string { return cut(w.fullWhy(), widestWhy) }

func (w *Decided) fullWhy() string {
	refusal, m := w.Decision.Refusal, w.mode()
	isNoScale := w.Decision.Branch == horizontal.BranchNoScale
	// Another autoscaler is no reason beside a preview; and that the target cannot be read is the better reason.
	isBehind := refusal.Reason == statusreport.AnotherAutoscaler && (m == mode.Preview || isNoScale)
	switch {
	case refusal.Reason != "" && !isBehind:
		return cmp.Or(refusal.Summary, refusal.Reason)
	case isNoScale:
		return "cannot read the target's scale"
	case w.reasonOf(statusreport.AbleToScale) == "FailedUpdateScale":
		return "cannot write the target's scale"
	case w.reasonOf(statusreport.ScalingActive) == "AmbiguousSelector":
		return "another one counts its pods"
	case m == mode.Paused && w.Policy.WorkloadAutoscaler.PausedReplicas != nil:
		return fmt.Sprintf("paused at %d", *w.Policy.WorkloadAutoscaler.PausedReplicas)
	case m == mode.Paused:
		return "paused"
	case m == mode.Preview:
		return "preview: " + w.ofCount()
	}
	return w.ofCount()
}

// reasonOf returns the reason of a condition that is False; empty for others.
func (w *Decided) reasonOf(kind string) string {
	for i := range w.Status.Conditions {
		if c := &w.Status.Conditions[i]; c.Type == kind && c.Status == condition.False {
			return c.Reason
		}
	}
	return ""
}

// ofCount returns the limit that determined the count, or its proposal.
func (w *Decided) ofCount() string {
	d := w.Decision
	switch limit, index := projection.Binding(d); limit {
	case projection.None:
		return w.ofProposal(d.Winner())
	case projection.Unusable:
		return w.ofFailure()
	case projection.MinReplicas, projection.MaxReplicas, projection.ScheduleMin, projection.ScheduleMax:
		return w.ofBounds(limit)
	case projection.Tolerance:
		if index < len(w.Policy.Metrics) {
			return w.metricName(index) + " within tolerance"
		}
		return limit.String()
	case projection.AssumedValues:
		return w.ofAssumed(index)
	default:
		return limit.String()
	}
}

// ofAssumed returns which pods have no values of their own, so that values are assumed for them.
func (w *Decided) ofAssumed(index int) string {
	switch n := &w.Decision.Metrics[index].Counts; {
	case n.Missing > 0:
		return "pods without samples"
	case n.Unready > 0:
		return "starting pods"
	default:
		return projection.AssumedValues.String()
	}
}

// ofBounds returns the bound that determined the count: the most replicas where the least are above them.
func (w *Decided) ofBounds(limit projection.Limit) string {
	s := &w.Decision.Schedules
	name, by := "minReplicas", s.MinBy
	if s.MaxWins || limit == projection.MaxReplicas || limit == projection.ScheduleMax {
		name, by = "maxReplicas", s.MaxBy
	}
	if by == nil {
		return "at " + name
	}
	return strings.TrimSuffix(name, "Replicas") + " of schedule " + by.Name
}

func (w *Decided) ofProposal(p proposal.Proposal) string {
	switch name := w.nameOf(p); {
	case p.Source == proposal.Forecast:
		return "forecast"
	case p.Source == proposal.Fallback:
		return "fallback of " + name
	case p.Source == proposal.Schedule && name == "":
		return "no schedule in force"
	case p.Source == proposal.Schedule:
		return "schedule " + name
	default:
		return name
	}
}

// ofFailure returns the reason for having no count: a metric, or the pods.
func (w *Decided) ofFailure() string {
	for i := range w.Decision.Metrics {
		if w.Decision.Metrics[i].Failure != nil {
			return "cannot read " + w.metricName(i)
		}
	}
	return w.reasonOf(statusreport.ScalingActive)
}

// nameOf returns the metric or schedule of a proposal; empty if there is none.
func (w *Decided) nameOf(p proposal.Proposal) string {
	switch p.Source {
	case proposal.Metric, proposal.Surge, proposal.Fallback:
		return w.metricName(p.Index)
	case proposal.Schedule:
		if p.Index < len(w.Decision.Schedules.InForce) {
			return w.Decision.Schedules.InForce[p.Index].Schedule.Name
		}
	}
	return ""
}
