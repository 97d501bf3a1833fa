package horizontal

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// WriteText prints the explanation for people.
func (e *Explanation) WriteText(w io.Writer, style Style) error {
	p := &output.Page{}
	p.Title(e.Summary())
	lines := p.All()
	if style.Verbose {
		lines = append(lines, e.Lines(true)...)
	} else {
		lines = append(lines, e.numbers()...)
	}
	return output.WriteLines(w, lines, style.Form)
}

// numbers are those that the sentence rests on, and what comes next.
func (e *Explanation) numbers() []output.Line {
	p := &output.Page{}
	var next []output.Line
	add := func(label, text string) {
		if text != "" {
			next = append(next, output.Line{Label: label, Text: text})
		}
	}
	add("samples", e.unreadText())
	add("forecast", e.forecastNumber())
	add("next change", workload{&e.Result}.followUpText())
	add("scale-down", e.lowerText())
	if !e.KnowsHistory {
		add("history", e.historyText())
	}
	e.writeNumbers(p, next)
	return p.All()
}

// Lines are all that it says beside the sentence; allPods names all pods that do not count, not the first few of each
// group.
func (e *Explanation) Lines(allPods bool) []output.Line {
	p := &output.Page{}
	if e.IsCertain() {
		e.writeHead(p, e.resultText(), e.limitText())
	} else {
		e.writeHead(p, fmt.Sprintf("%d to %d replicas, depending on the history", e.Least, e.Most),
			"unknown, as the history is")
	}
	p.Strong("next", e.nextText())
	if text := e.lowerText(); text != "" {
		p.Strong("scale-down", text)
	}
	p.Add("controller", "%s", e.controllerText())
	p.Add("history", "%s", e.historyText())
	for _, note := range e.Older {
		p.Add("kubernetes", "%s", note)
	}
	e.writeDetails(p, allPods)
	for _, use := range e.Uses {
		p.Add("rate policy", "%s", useText(use))
	}
	return p.All()
}

// useText is "scaleUp 4 Pods per 60 s: permits 6, from 2 at the start of the period".
func useText(u behavior.Use) string {
	unit, direction := "Pods", "scaleDown"
	if u.Policy.Type == behavior.RatePercent {
		unit = "Percent"
	}
	if u.Up {
		direction = "scaleUp"
	}
	return fmt.Sprintf("%s %d %s per %s: permits %d, from %d at the start of the period",
		direction, u.Policy.Value, unit, summary.DurationText(u.Policy.Period), u.Permits, u.Start)
}

// nextText is what comes, step by step: "8 at the next decision, 10 in about 30 s".
func (e *Explanation) nextText() string {
	d := &e.Decision
	var parts []string
	switch {
	case e.isScaleUnread():
		return "does not change until the scale of the target can be read"
	case d.Branch == horizontal.BranchPaused || e.Observation.Refusal.Reason != "":
		return workload{&e.Result}.nextHeld()
	case !e.IsCertain():
		parts = append(parts, fmt.Sprintf("%d to %d at the next decision", e.Least, e.Most))
		return parts[0]
	case d.Desired != d.Current:
		parts = append(parts, fmt.Sprintf("%s%s at the next decision", workload{&e.Result}.ifActive(), e.count(d.Desired)))
	}
	for _, s := range e.Projection.Steps {
		parts = append(parts, fmt.Sprintf("%s in about %s", e.count(s.Replicas), summary.DurationText(s.At.Sub(d.At))))
	}
	switch {
	case len(parts) == 0 && d.Branch == horizontal.BranchMetrics:
		return fmt.Sprintf("stays at %s while the metrics do not change", e.count(d.Desired))
	case len(parts) == 0:
		return fmt.Sprintf("stays at %s until this changes", e.count(d.Desired))
	case e.Projection.Settled:
		return strings.Join(parts, ", ") + ", then no further change, if the load stays as it is"
	default:
		return strings.Join(parts, ", ") + ", and further, if the load stays as it is"
	}
}

// count is a replica count, with its name if it is a bound: "10 (maxReplicas)".
func (e *Explanation) count(n int32) string {
	switch n {
	case e.Decision.Bounds.MaxReplicas:
		return fmt.Sprintf("%d (maxReplicas)", n)
	case e.Decision.Bounds.MinReplicas:
		return fmt.Sprintf("%d (minReplicas)", n)
	default:
		return fmt.Sprint(n)
	}
}

// lowerText is the earliest scale-down, and what prevents an earlier one. The time is that of a recommendation or of a
// change of the count, so that it stays while these do. Without the history it is not known, but that this decision's
// own recommendation counts as long as its window.
func (e *Explanation) lowerText() string {
	lower := e.Projection.Lower
	switch {
	case e.Decision.Refusal.Reason != "" || e.Decision.Mode() == mode.Preview:
		return "" // It scales nothing.
	case lower == nil:
		return e.heldUpText()
	case e.isLoweredByItself():
		by := &lower.DelayedBy.Stabilized
		return fmt.Sprintf("no earlier than %s after the last decision that asks for %d (%s), even if the load ends now",
			summary.DurationText(by.Window), by.By.Replicas, windowName(by))
	case !e.KnowsHistory:
		return "not known: what was recommended earlier is unknown"
	case !lower.At.After(e.Decision.At):
		return "with the next decision, if the load ends now"
	}
	return fmt.Sprintf("no earlier than %s%s, even if the load ends now", summary.Clock(lower.At, e.Decision.At),
		e.because(lower.DelayedBy))
}

// heldUpText is what keeps the count whatever the load is; empty if nothing does.
func (e *Explanation) heldUpText() string {
	d := &e.Decision
	if d.Branch != horizontal.BranchMetrics || d.Current == 0 || d.Desired <= d.Bounds.MinReplicas {
		return "" // At minReplicas the count does not fall anyway.
	}
	by, i := projection.HeldUpBy(d)
	switch {
	case by == proposal.None:
		return ""
	case by == proposal.Forecast:
		return fmt.Sprintf("not while the forecast asks for %d", projection.ForecastAsks(d))
	case by == proposal.Metric && d.Metrics[i].Verdict == metric.NothingReady:
		return "not while no pod is ready"
	case d.Metrics[i].Pending:
		return "not before " + summary.MetricName(&e.Policy.Metrics[i]) + " has a value"
	}
	text := "not while " + summary.MetricName(&e.Policy.Metrics[i]) + " cannot be read"
	if by == proposal.Fallback {
		text += " and its fallback " + fallback.Asks(&e.Policy.Metrics[i].Fallback, &d.Metrics[i], d.Current)
	}
	return text
}

// windowName is what a recommendation counts by.
func windowName(s *behavior.Stabilized) string {
	if s.IsPassing {
		return "the count of a surge is held that long"
	}
	return "stabilization window of scaleDown"
}

// isLoweredByItself reports whether this decision's recommendation delays the scale-down.
func (e *Explanation) isLoweredByItself() bool {
	held := e.Projection.Lower.DelayedBy
	return held != nil && held.Stabilized.Reason != behavior.ReadyForNewScale &&
		held.Stabilized.By.Time.Equal(e.Decision.At)
}

func (e *Explanation) because(held *projection.Limits) string {
	switch {
	case held == nil:
		return ""
	case held.Stabilized.Reason != behavior.ReadyForNewScale:
		by := held.Stabilized.By
		return fmt.Sprintf(" because of the recommendation of %d at %s", by.Replicas, summary.Clock(by.Time, e.Decision.At))
	case held.Limited.Reason == behavior.ScaleDownLimit:
		return " because of the rate policies of scaleDown"
	default:
		return ""
	}
}

func (e *Explanation) historyText() string {
	if e.KnowsHistory {
		return "read from the controller"
	}
	return "unknown: " + e.NoHistory
}

func (e *Explanation) controllerText() string {
	if e.Controller == Undecided {
		return "unknown: no controller has written the status"
	}
	return string(e.Controller)
}
