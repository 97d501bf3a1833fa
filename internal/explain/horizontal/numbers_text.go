package horizontal

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// mostNumbers is how many lines follow the sentence at most. Another one counts those that are left out.
const mostNumbers = 6

// writeNumbers prints the numbers that the sentence rests on, and what comes next.
func (r *Result) writeNumbers(p *output.Page, next []output.Line) {
	key := snapshothorizontal.KeyOf(r.Step)
	p.Add("object", "%s %s at %s", key.Kind, key.NamespacedName, r.Decision.At.Format(time.RFC3339))
	p.Add("target", "%s", r.targetText())
	const before = 2
	leading := r.leading(max(1, mostNumbers-before-len(next)))
	for _, i := range leading {
		p.Add(metricLabel(i), "%s", r.metricLine(i))
	}
	printed := min(len(next), mostNumbers-before-1)
	for _, line := range next[:printed] {
		p.Add(line.Label, "%s", line.Text)
	}
	left := next[printed:]
	for i := range r.Decision.Metrics {
		if !slices.Contains(leading, i) {
			left = append(left, output.Line{Label: metricLabel(i)})
		}
	}
	p.AddLeftOut(left)
}

func metricLabel(i int) string { return fmt.Sprintf("metric %d", i+1) }

// leading are the metrics to print, at most so many: in their order, but with the one that the count comes from.
func (r *Result) leading(most int) (all []int) {
	d := &r.Decision
	for i := range d.Metrics {
		all = append(all, i)
	}
	if len(all) <= most {
		return all
	}
	all = all[:most]
	isOfMetric := d.Proposed.Source != proposal.None && d.Proposed.Source != proposal.Schedule
	if isOfMetric && d.Proposed.Index >= most {
		all[most-1] = d.Proposed.Index
	}
	return all
}

// metricLine is a metric's value, its target, the pods that count and what it asks for.
func (r *Result) metricLine(i int) string {
	spec, result := &r.Policy.Metrics[i], &r.Decision.Metrics[i]
	name := summary.MetricName(spec)
	switch {
	case result.Pending:
		return name + ": " + ownMetric{r, i}.pendingText() + r.inSurgeWindow(i)
	case result.Failure != nil:
		return name + ": " + summary.WithShortSelectors(result.Failure.Message) + r.unsampledText(i)
	}
	text := fmt.Sprintf("%s: %s, target %s", name, r.valueText(spec, result), targetText(spec, result))
	if result.Groups != nil {
		n := &result.Counts
		text += fmt.Sprintf("; %d of %s", n.Counted, podsText(n.Pods(), "")) + r.othersText(result, false)
	}
	return text + r.unsampledText(i) + fmt.Sprintf("; asks for %d", result.Replicas) + r.inSurgeWindow(i)
}

func (r *Result) inSurgeWindow(i int) string {
	if s := &r.Decision.Surge; s.Proposes() && s.Metric == i {
		return fmt.Sprintf(", in the surge window for %d", s.Replicas)
	}
	return ""
}
