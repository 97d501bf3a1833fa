package horizontal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// page collects the lines of an explanation: labels in one column, text in the other.
type page struct {
	strings.Builder
	style Style
}

const labelWidth = 12

func (p *page) line(label, format string, args ...any) {
	fmt.Fprintf(p, "  %-*s %s\n", labelWidth, label, fmt.Sprintf(format, args...))
}

// detail is a line under the one before.
func (p *page) detail(label, text string) { p.line("  "+label, "%s", text) }

// table writes rows with their columns in line, the last one as it is.
func (p *page) table(label string, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var text strings.Builder
		for i, cell := range row[:len(row)-1] {
			fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
		}
		p.line(label, "%s%s", text.String(), row[len(row)-1])
		label = ""
	}
}

// WriteText explains the decision to a person.
func (r *Result) WriteText(w io.Writer, style Style) error {
	p := &page{style: style}
	d, hpa := &r.Decision, r.Step.HPA
	fmt.Fprintf(p, "%s  HorizontalPodAutoscaler %s/%s\n", d.At.Format(time.RFC3339Nano), hpa.Namespace, hpa.Name)
	if note := r.Step.Snapshot.Annotations[snapshothorizontal.NoteAnnotation]; note != "" {
		p.line("note", "%s", note)
	}
	if saved, here := r.Step.Snapshot.Annotations[snapshot.DivergencesAnnotation], r.Policy.Divergences.String(); saved != "" && saved != here {
		p.line("divergences", "%s when it was saved, %s here", saved, here)
	}
	ref := hpa.Spec.ScaleTargetRef
	target := strings.Trim(ref.Kind+"/"+ref.Name, "/")
	p.line("target", "%s: %d wanted, %d there; min %d, max %d", target, d.Current,
		r.Observation.Target.StatusReplicas, r.Policy.MinReplicas, r.Policy.MaxReplicas)
	if why := whyNow(d.Trigger); why != "" {
		p.line("trigger", "%s", why)
	}
	p.line("way", "%s", r.way())
	for i := range d.Metrics {
		r.explainMetric(p, i)
	}
	r.explainLimits(p)
	p.line("result", "%s", r.outcome())
	var rows [][]string
	for _, c := range r.Status.Conditions {
		rows = append(rows, []string{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	p.table("conditions", rows)
	rows = nil
	for _, e := range r.Events {
		rows = append(rows, []string{e.Type, e.Reason, e.Message})
	}
	p.table("events", rows)
	_, err := io.WriteString(w, p.String())
	return err
}

// whyNow says why it was decided then, where that was not because a sync period was over.
func whyNow(kind trigger.Kind) string {
	switch kind {
	case trigger.Samples:
		return "new samples"
	case trigger.Event:
		return "pods or the replica count changed, which alone lowers nothing"
	default:
		return ""
	}
}

// way says which way the decision took, as far as the target alone decides it.
func (r *Result) way() string {
	switch r.Decision.Branch {
	case horizontal.BranchNoScale:
		return "stopped: the target's scale cannot be read"
	case horizontal.BranchDisabled:
		return "switched off: the target was put to 0 replicas by hand"
	case horizontal.BranchAboveMax:
		return "more replicas than max: the count is corrected, whatever the metrics say"
	case horizontal.BranchBelowMin:
		return "fewer replicas than min: the count is corrected, whatever the metrics say"
	case horizontal.BranchFailed:
		if r.Observation.Target.Selector.Problem != horizontal.SelectorFine {
			return "stopped: the pods' selector cannot be used"
		}
		return "stopped: the metrics that could be computed are not enough to decide"
	case horizontal.BranchAwaiting:
		if r.Decision.Failed+r.Decision.Pending+r.Decision.Outdated == 0 {
			return "kept: the metrics ask for less, which is left to newer samples"
		}
		return "kept: values that are awaited, or newer than the last scale-up, may not ask for less"
	default:
		return "the metrics decide"
	}
}

func (r *Result) explainMetric(p *page, i int) {
	spec, result := &r.Policy.Metrics[i], &r.Decision.Metrics[i]
	p.line(fmt.Sprintf("metric %d", i+1), "%s", spec.Describe(r.Policy.Divergences))
	if result.Pending {
		p.detail("value", "awaited")
		return
	}
	if result.Failure != nil {
		p.detail("failed", result.Failure.Message)
		r.explainPods(p, result)
		return
	}
	p.detail("value", value(spec, result))
	p.detail("target", targetText(spec))
	p.detail("ratio", r.ratioText(result))
	r.explainPods(p, result)
	p.detail("wish", wishText(spec, result))
	if s := &r.Decision.Surge; s.Verdict != surge.NoData && s.Metric == i {
		p.detail("surge", surgeText(spec, s))
	}
}

// surgeText says what the last few seconds showed, and what comes of it.
func surgeText(spec *source.Spec, s *surge.Result) string {
	text := fmt.Sprintf("%d samples within %s: at least %s of the target in each (%s on average), a surge is above %s",
		s.Intervals, s.Span, short(s.Ratio), amount(spec, s.Milli), short(s.Factor))
	switch s.Verdict {
	case surge.BelowThreshold:
		return text
	case surge.TooFewPods:
		return text + fmt.Sprintf("; %s: %d of %d", s.Verdict, s.Showing, s.Counted)
	case surge.Asking:
		if s.Sharing > 0 {
			text += fmt.Sprintf("; %s with what %d pods have taken over", short(s.Adjusted), s.Sharing)
		}
		if float64(s.Replicas) < s.Adjusted*float64(s.Base) {
			return text + fmt.Sprintf("; asks for %d, less than %s × %d: so few pods, or more of them that did not help, prove no more",
				s.Replicas, short(s.Adjusted), s.Base)
		}
		return text + fmt.Sprintf("; asks for %d = %s × %d, rounded up", s.Replicas, short(s.Adjusted), s.Base)
	default:
		return text + "; " + s.Verdict.String()
	}
}

func value(spec *source.Spec, result *metric.Result) string {
	switch {
	case spec.Target.Type == source.Utilization:
		return fmt.Sprintf("%d%% of the requests, %s on average", result.Percent, amount(spec, result.Milli))
	case spec.Target.Type == source.Value:
		return amount(spec, result.Milli)
	case spec.Type == source.Object || spec.Type == source.External:
		return amount(spec, result.Milli) + " for each replica"
	default:
		return amount(spec, result.Milli) + " on average"
	}
}

func targetText(spec *source.Spec) string {
	if spec.Target.Type == source.Utilization {
		return fmt.Sprintf("%d%%", spec.Target.Percent)
	}
	return amount(spec, spec.Target.Milli)
}

func amount(spec *source.Spec, milli int64) string {
	format := resource.DecimalSI
	if spec.Name == "memory" && (spec.Type == source.Resource || spec.Type == source.ContainerResource) {
		format = resource.BinarySI
	}
	return resource.NewMilliQuantity(milli, format).String()
}

func (r *Result) ratioText(result *metric.Result) string {
	low, high := 1-r.Policy.Tolerance.Down, 1+r.Policy.Tolerance.Up
	text := fmt.Sprintf("%s; no change from %s to %s", short(result.Ratio), short(low), short(high))
	if refilled(result) {
		text += fmt.Sprintf("; %s with missing and unready pods filled in", short(result.Adjusted))
	}
	return text
}

// refilled reports whether missing or unready pods were filled in. Infinity and
// NaN, which a division by zero gives, are nothing to fill.
func refilled(result *metric.Result) bool {
	return result.Groups != nil && result.Adjusted != result.Ratio
}

func short(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// maxNames is how many pods of a group are named.
const maxNames = 5

// explainPods says how many pods count and names those set aside.
func (r *Result) explainPods(p *page, result *metric.Result) {
	if result.Groups == nil {
		return
	}
	names := map[string][]string{}
	var groups []string
	for _, part := range r.setAside(result) {
		if names[part.Group] == nil {
			groups = append(groups, part.Group)
		}
		names[part.Group] = append(names[part.Group], part.Name)
	}
	slices.Sort(groups)
	text := fmt.Sprintf("%d counted", result.Counts.Counted)
	for _, group := range groups {
		listed := names[group]
		most := maxNames
		if p.style.AllPods {
			most = len(listed)
		}
		text += fmt.Sprintf("; %d %s: %s", len(listed), group, strings.Join(listed[:min(len(listed), most)], ", "))
		if len(listed) > most {
			text += ", …"
		}
	}
	p.detail("pods", text)
}

func wishText(spec *source.Spec, result *metric.Result) string {
	text := strconv.Itoa(int(result.Replicas))
	whole := spec.Type == source.Object || spec.Type == source.External
	switch {
	case result.Base > 0:
		text += fmt.Sprintf(" = %s × %d, rounded up", short(result.Adjusted), result.Base)
	case result.Verdict == metric.Scaled && whole && spec.Target.Type == source.AverageValue:
		return text + ", the whole value over the target, rounded up"
	}
	return text + " (" + result.Verdict.String() + ")"
}

func (r *Result) explainLimits(p *page) {
	d := &r.Decision
	if d.Branch != horizontal.BranchMetrics {
		return
	}
	window := ""
	if d.Proposed.Source == proposal.Surge {
		window = ", by the surge window"
	}
	p.line("wish", "%d, from metric %d%s", d.Proposed.Replicas, d.Proposed.Index+1, window)
	p.line("stabilized", "%s", stabilizedText(&d.Stabilized))
	p.line("limited", "%s", limitedText(d))
	if d.RaisedToMin {
		p.line("raised", "%d, min replicas", d.Desired)
	}
}

func stabilizedText(s *behavior.Stabilized) string {
	if s.Reason == behavior.ReadyForNewScale {
		return fmt.Sprintf("%d, no earlier recommendation holds it", s.Replicas)
	}
	return fmt.Sprintf("%d, held by the recommendation of %d at %s within the window of %s",
		s.Replicas, s.By.Replicas, s.By.Time.Format(time.RFC3339Nano), s.Window)
}

func limitedText(d *horizontal.Decision) string {
	text := fmt.Sprintf("%d, %s", d.Limited.Replicas, d.Limited.Reason.Message())
	if d.Limited.Rated {
		text += fmt.Sprintf("; the rate permits %d", d.Limited.RateLimit)
	}
	if d.Limited.LeftZero {
		text += ", as otherwise the target could never leave 0"
	}
	if d.Limited.Held != behavior.NotHeld {
		text += ": " + d.Limited.Held.String()
	}
	return text
}

func (r *Result) outcome() string {
	d := &r.Decision
	switch {
	case d.Rescale && r.Report.Reason == "":
		// The wish is the count itself, and stabilization goes elsewhere.
		return fmt.Sprintf("scale from %d to %d: an earlier recommendation holds", d.Current, d.Desired)
	case d.Rescale:
		return fmt.Sprintf("scale from %d to %d: %s", d.Current, d.Desired, r.Report.Reason)
	case d.Branch == horizontal.BranchNoScale:
		return r.Report.Error
	case d.Branch == horizontal.BranchFailed:
		return fmt.Sprintf("stay at %d: %s", d.Current, r.Report.Error)
	default:
		return fmt.Sprintf("stay at %d", d.Current)
	}
}
