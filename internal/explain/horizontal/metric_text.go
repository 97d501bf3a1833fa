package horizontal

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

func (r *Result) writeMetric(p *output.Page, i int, allPods bool) {
	spec, result := &r.Policy.Metrics[i], &r.Decision.Metrics[i]
	p.Add(fmt.Sprintf("metric %d", i+1), "%s", r.metricText(spec))
	own := ownMetric{r, i}
	own.write(p)
	if result.Pending {
		p.Detail("value", own.pendingText())
		r.writeSurge(p, i)
		return
	}
	if result.Failure != nil {
		p.Detail("failed", result.Failure.Message)
		r.writePods(p, i, allPods)
		r.writeUnsampled(p, i)
		return
	}
	p.Detail("value", r.valueText(spec, result))
	p.Detail("target", targetText(spec, result))
	if n := r.resizing(i); n > 0 {
		p.Detail("requests", podsText(n, "")+" with others than in the spec until a resize in place is done")
	}
	if text := leftOutText(spec, result); text != "" {
		p.Detail("left out", text)
	}
	p.Detail("usage ratio", r.ratioText(result))
	r.writePods(p, i, allPods)
	r.writeUnsampled(p, i)
	p.Detail("proposed", proposalText(spec, result))
	r.writeSurge(p, i)
}

func (r *Result) writeSurge(p *output.Page, i int) {
	if s := &r.Decision.Surge; s.Verdict != surge.NoData && s.Metric == i {
		p.Detail("surge", surgeText(&r.Policy.Metrics[i], s))
	}
}

// resizing is how many pods have other requests than their specs, where metric i divides by them.
func (r *Result) resizing(i int) (n int) {
	if i >= len(r.Observation.Readings) {
		return 0
	}
	for _, request := range r.Observation.Readings[i].Requests {
		if request.Resizing {
			n++
		}
	}
	return n
}

// leftOutText is what all pods together used that the value leaves out, or adds; empty without that.
func leftOutText(spec *source.Spec, result *metric.Result) string {
	var parts []string
	if result.SharedMilli != 0 {
		parts = append(parts, amount(spec, result.SharedMilli)+" of load that pods share which have become ready since")
	}
	if result.StartMilli != 0 {
		parts = append(parts, amount(spec, result.StartMilli)+" as the start of new pods")
	}
	switch moved := result.MovedMilli; {
	case moved > 0:
		parts = append(parts, amount(spec, moved)+" that may be in the samples of two pods")
	case moved < 0:
		parts = append(parts, "nothing of "+amount(spec, -moved)+" that may be in no sample, which is added")
	}
	return strings.Join(parts, ", ")
}

// surgeText is what the surge window measured, and what it proposes.
func surgeText(spec *source.Spec, s *surge.Result) string {
	text := fmt.Sprintf("%d samples in %s, each at least %s × target (average %s); threshold %s × target",
		s.Intervals, s.Span, short(s.Ratio), amount(spec, s.Milli), short(s.Factor))
	switch s.Verdict {
	case surge.BelowThreshold:
		return text
	case surge.TooFewPods:
		return text + fmt.Sprintf("; only %d of %d pods exceed it", s.Showing, s.Counted)
	case surge.Asking:
		if s.Sharing > 0 {
			text += fmt.Sprintf("; %s × target with the load of %d new pods", short(s.Adjusted), s.Sharing)
		}
		if float64(s.Replicas) < s.Adjusted*float64(s.Base) {
			return text + fmt.Sprintf(
				"; proposed %d, fewer than %s × %d, as too few pods exceed it or the last scale-up did not help",
				s.Replicas, short(s.Adjusted), s.Base)
		}
		return text + fmt.Sprintf("; proposed %d = %s × %d, rounded up", s.Replicas, short(s.Adjusted), s.Base)
	default:
		return text + "; " + surgeVerdict(s.Verdict)
	}
}

func (r *Result) valueText(spec *source.Spec, result *metric.Result) string {
	switch {
	case !spec.IsPerPod() && spec.Target.Type == source.AverageValue && r.Decision.Current == 0:
		return amount(spec, result.Total) + " in total"
	case spec.Target.Type == source.Utilization:
		return fmt.Sprintf("%d%% of the requests, average %s", result.Percent, amount(spec, result.Milli))
	case spec.Target.Type == source.Value:
		return amount(spec, result.Milli)
	case !spec.IsPerPod():
		return amount(spec, result.Milli) + " per replica"
	default:
		return "average " + amount(spec, result.Milli)
	}
}

// metricText names a metric, and says what it measures.
func (r *Result) metricText(spec *source.Spec) string {
	measured := spec.Measured(r.Policy.Divergences)
	if spec.GivenName == "" {
		return measured
	}
	return spec.GivenName + ": " + measured
}

func targetText(spec *source.Spec, result *metric.Result) string {
	switch {
	case spec.Target.Type == source.Utilization:
		return fmt.Sprintf("%d%%", spec.Target.Percent)
	case spec.IsOwnTarget:
		return amount(spec, result.TargetMilli) + ", the scaler's own"
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
	if math.IsNaN(result.Ratio) {
		return "none: there are no replicas to divide the value by"
	}
	low, high := 1-r.Policy.Tolerance.Down, 1+r.Policy.Tolerance.Up
	text := fmt.Sprintf("%s; tolerance from %s to %s", short(result.Ratio), short(low), short(high))
	switch {
	case !refilled(result):
	case result.Counts.Missing+result.Counts.Unready == 0:
		text += fmt.Sprintf("; %s with what new pods would have used in the whole window", short(result.Adjusted))
	default:
		text += fmt.Sprintf("; %s with assumed values for missing and unready pods", short(result.Adjusted))
	}
	return text
}

// refilled reports whether values were assumed for missing, unready or new pods: not for Infinity
// and NaN, which a division by zero gives.
func refilled(result *metric.Result) bool {
	return result.Groups != nil && !result.Pending && result.Adjusted != result.Ratio
}

func short(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// maxNames is how many pods of a group are named.
const maxNames = 5

// writePods prints how many pods count, and names the others by group.
func (r *Result) writePods(p *output.Page, i int, allPods bool) {
	result := &r.Decision.Metrics[i]
	if result.Groups == nil {
		return
	}
	names := map[string][]string{}
	var groups []string
	for _, part := range r.setAside(i) {
		if names[part.Group] == nil {
			groups = append(groups, part.Group)
		}
		names[part.Group] = append(names[part.Group], part.Name)
	}
	slices.Sort(groups)
	text := fmt.Sprintf("%d counted", result.Counts.Counted)
	if n := &result.Counts; n.Unsampled > 0 {
		text = fmt.Sprintf("%d of %d pods sampled; %s", n.Asked(), n.Asked()+n.Unsampled, text)
	}
	text += r.othersText(result, allPods)
	for _, group := range groups {
		text += fmt.Sprintf("; %d %s: %s", len(names[group]), group, namesText(names[group], allPods))
	}
	p.Detail("pods", text)
}

// othersText names those of the counted pods that other controllers have; empty if there are none.
func (r *Result) othersText(result *metric.Result, allPods bool) string {
	var others []string
	for _, pod := range r.podsOfOthers(result) {
		others = append(others, pod.Name+" of "+pod.Controller)
	}
	if len(others) == 0 {
		return ""
	}
	return ", of them " + namesText(others, allPods)
}

func namesText(names []string, all bool) string {
	if all || len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:maxNames], ", ") + ", …"
}

func proposalText(spec *source.Spec, result *metric.Result) string {
	text := strconv.Itoa(int(result.Replicas))
	whole := !spec.IsPerPod()
	switch {
	case result.Base > 0:
		text += fmt.Sprintf(" = %s × %d, rounded up", short(result.Adjusted), result.Base)
	case result.Verdict == metric.Scaled && whole && spec.Target.Type == source.AverageValue:
		return text + " = value ÷ target, rounded up"
	}
	return text + " (" + metricVerdict(result.Verdict) + ")"
}
