package horizontal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// WriteText prints the decision for people: a sentence, then the numbers that it rests on.
func (r *Result) WriteText(w io.Writer, style Style) error {
	p := &output.Page{}
	p.Title(r.Sentence.Text)
	if style.Verbose {
		r.writeHead(p, r.resultText(), r.limitText())
		r.writeDetails(p, style.Verbose)
	} else {
		var next []output.Line
		if text := (workload{r}).followUpText(); text != "" {
			next = append(next, output.Line{Label: "next change", Text: text})
		}
		r.writeNumbers(p, next)
	}
	return output.WriteLines(w, p.All(), style.Form)
}

// writeHead prints what the decision is about, and these two lines.
func (r *Result) writeHead(p *output.Page, result, limit string) {
	key := snapshothorizontal.KeyOf(r.Step)
	p.Heading("%s  %s %s", r.Decision.At.Format(time.RFC3339Nano), key.Kind, key.NamespacedName)
	if note := r.Step.Snapshot.Annotations[snapshothorizontal.NoteAnnotation]; note != "" {
		p.Add("note", "%s", note)
	}
	r.writeDivergences(p)
	p.Strong("result", result)
	p.Strong("limited by", limit)
	if text := (workload{r}).followUpText(); text != "" {
		p.Strong("next change", text)
	}
}

// writeDivergences prints that the snapshot was saved with other divergences. The same ones may have another text.
func (r *Result) writeDivergences(p *output.Page) {
	saved, here := r.Step.Snapshot.Annotations[snapshot.DivergencesAnnotation], r.Policy.Divergences
	if set, err := divergence.Parse(saved); saved != "" && (err != nil || set != here) {
		p.Add("divergences", "%s here; %s when the snapshot was saved", here, saved)
	}
}

// writeDetails prints how the decision came about, and its report.
func (r *Result) writeDetails(p *output.Page, allPods bool) {
	d := &r.Decision
	p.Add("target", "%s", r.targetText())
	workload{r}.writeOwn(p)
	if text := triggerText(d.Trigger); text != "" {
		p.Add("trigger", "%s", text)
	}
	p.Add("decided by", "%s", r.branchText())
	r.writeSamples(p)
	for i := range d.Metrics {
		r.writeMetric(p, i, allPods)
	}
	if text := r.forecastText(); text != "" {
		p.Add("forecast", "%s", text)
	}
	r.writeLimits(p)
	var rows [][]string
	for _, c := range r.Status.Conditions {
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, c.Message})
	}
	p.Table("conditions", rows)
	rows = nil
	for _, e := range r.Events {
		rows = append(rows, []string{e.Type, e.Reason, e.Message})
	}
	p.Table("events", rows)
}

// targetText is the target with its counts and bounds.
func (r *Result) targetText() string {
	d, ref := &r.Decision, r.Step.Autoscaler().Target()
	return fmt.Sprintf("%s: %s; minReplicas %d, maxReplicas %d", strings.Trim(ref.Kind+"/"+ref.Name, "/"), r.countsText(),
		d.Bounds.MinReplicas, d.Bounds.MaxReplicas)
}

// countsText are the replica counts of the target. What could not be read is not 0.
func (r *Result) countsText() string {
	if r.isScaleUnread() {
		return "its scale cannot be read, and its replica counts are unknown"
	}
	return fmt.Sprintf("%d desired replicas, %d current replicas", r.Decision.Current,
		r.Observation.Target.StatusReplicas)
}

// isScaleUnread reports whether the replica counts of the target are unknown.
func (r *Result) isScaleUnread() bool { return r.Decision.Branch == horizontal.BranchNoScale }

// triggerText is what triggered the decision, empty for the end of a sync period.
func triggerText(kind trigger.Kind) string {
	switch kind {
	case trigger.Samples:
		return "new samples"
	case trigger.Event:
		return "a change of pods or of the replica count, which never scales down by itself"
	default:
		return ""
	}
}

func (r *Result) branchText() string {
	switch r.Decision.Branch {
	case horizontal.BranchNoScale:
		return "nothing: the scale of the target cannot be read"
	case horizontal.BranchDisabled:
		return "nothing: autoscaling is disabled while the target has 0 replicas"
	case horizontal.BranchPaused:
		return "the mode, which is Paused"
	case horizontal.BranchAboveMax:
		return "maxReplicas: the target has more replicas, whatever its metrics are"
	case horizontal.BranchBelowMin:
		return "minReplicas: the target has fewer replicas, whatever its metrics are"
	case horizontal.BranchFailed:
		if r.Observation.Target.Selector.Problem != podselector.Fine {
			return "nothing: the selector of the pods cannot be used"
		}
		return "nothing: too few metrics are available"
	case horizontal.BranchAwaiting:
		if r.Decision.Failed+r.Decision.Pending+r.Decision.Outdated == 0 {
			return "metrics: they propose fewer replicas, which needs newer samples"
		}
		return "metrics: none may scale down before all have a value newer than the last scale-up"
	default:
		if r.Decision.ForecastReplicas > 0 {
			return "metrics, and a forecast of more"
		}
		return "metrics"
	}
}

func (r *Result) writeLimits(p *output.Page) {
	d := &r.Decision
	if d.Branch != horizontal.BranchMetrics {
		return
	}
	p.Add("proposed", "%d, by %s", d.Proposed.Replicas, sourceText(d.Proposed))
	p.Add("stabilized", "%s", stabilizedText(&d.Stabilized))
	if d.ForecastReplicas > 0 {
		p.Add("raised", "to %d, by the forecast", d.ForecastReplicas)
	}
	p.Add("limits", "%s", limitedText(d))
	if d.RaisedToMin {
		p.Add("minReplicas", "%d, raised from %d", d.Desired, d.Limited.Replicas)
	}
}

func stabilizedText(s *behavior.Stabilized) string {
	if s.Reason == behavior.ReadyForNewScale {
		return fmt.Sprintf("%d, not changed by recommendations in the stabilization window", s.Replicas)
	}
	window := "in the stabilization window of "
	if s.IsPassing {
		window = "of a surge, which counts for "
	}
	return fmt.Sprintf("%d, by the recommendation of %d at %s %s%s",
		s.Replicas, s.By.Replicas, s.By.Time.Format(time.RFC3339Nano), window, s.Window)
}

func limitedText(d *horizontal.Decision) string {
	text := fmt.Sprintf("%d, %s", d.Limited.Replicas, d.Limited.Reason.Message())
	if d.Limited.Rated {
		text += fmt.Sprintf("; the rate policies permit %d", d.Limited.RateLimit)
	}
	if d.Limited.LeftZero {
		text += " (1 is always permitted from 0)"
	}
	if d.Limited.IsDoublingHeld {
		text += ": no answer is newer than the last scale-up"
	}
	return text
}

func (r *Result) resultText() string {
	d := &r.Decision
	if text := (workload{r}).heldText(); text != "" {
		return text
	}
	switch {
	case d.Rescale && r.Report.Reason == "":
		// The proposal is the replica count itself, and stabilization changes it.
		return fmt.Sprintf("scale from %d to %d: an earlier recommendation applies", d.Current, d.Desired)
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
