package summary

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

func (w *writer) metricName(i int) string { return MetricName(&w.Policy.Metrics[i]) }

// MetricName is what people call the metric: CPU, memory, or its own name.
func MetricName(spec *source.Spec) string {
	name := spec.ShortName()
	switch {
	case spec.GivenName != "":
	case spec.Type == source.Resource && spec.IsCPU():
		name = "CPU"
	case spec.Type == source.ContainerResource && spec.IsCPU():
		name = "CPU of container " + spec.Container
	case spec.Type == source.ContainerResource:
		name += " of container " + spec.Container
	case spec.Type == source.Object:
		name += " of " + spec.Object.Kind + " " + spec.Object.Name
	case name == "" && spec.Type == source.ExternalScaler:
		name = "the external scaler"
	case name == "":
		name = "the metric" // of a type that an API server refuses
	}
	return name
}

// valueOf is "CPU is at 76 % (target 50 %)", or "queue is at 140 % of its target".
func (w *writer) valueOf(i int) string {
	spec, r, name := &w.Policy.Metrics[i], &w.Metrics[i], w.metricName(i)
	switch {
	case math.IsNaN(r.Ratio) || math.IsInf(r.Ratio, 0):
		return fmt.Sprintf("%s asks for %s", name, countText(r.Replicas))
	case spec.Target.Type == source.Utilization:
		value, start := fmt.Sprintf("%d %%", r.Percent), withStart(r, float64(r.Percent)/100, "")
		if r.Percent == 0 && r.Milli > 0 {
			value = "less than 1 %"
		}
		if start != "" {
			start = "; " + start
		}
		return fmt.Sprintf("%s is at %s (target %d %%%s)", name, value, spec.Target.Percent, start)
	}
	text := fmt.Sprintf("%s is at %s", name, ofTarget(r.Ratio))
	if start := withStart(r, r.Ratio, " of it"); start != "" {
		return text + " (" + start + ")"
	}
	return text
}

// withStart is what the pods use where the value leaves a part of that out: "the pods use 200 %, a part of which is
// left out as the start of new pods". It is empty where the value shows the same with that part.
func withStart(r *metric.Result, value float64, of string) string {
	counted, start := float64(r.Milli)*float64(r.Counts.Counted), float64(r.StartMilli)
	if start <= 0 {
		return ""
	}
	if counted <= 0 || value <= 0 {
		return "a part of what the pods use is left out as the start of new pods"
	}
	used := percent(value * (counted + start) / counted)
	if used == percent(value) {
		return ""
	}
	return fmt.Sprintf("the pods use %s%s, a part of which is left out as the start of new pods", used, of)
}

// mostTimes is up to how many times something is shown.
const mostTimes = 99

// ofTarget is "140 % of its target".
func ofTarget(ratio float64) string {
	if ratio > mostTimes {
		return percent(ratio) + " its target"
	}
	return percent(ratio) + " of its target"
}

// atLeast is "900 % of its target or more".
func atLeast(ratio float64) string {
	if ratio > mostTimes {
		return ofTarget(ratio)
	}
	return ofTarget(ratio) + " or more"
}

// percent is a part of something. What is not the whole is not shown as the whole, nor what is more than nothing as 0.
func percent(part float64) string {
	switch p := 100 * part; {
	case part > mostTimes:
		return fmt.Sprintf("more than %d times", mostTimes)
	case p > 0 && p < 1:
		return "less than 1 %"
	case p != 100 && math.Abs(p-100) < 1:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func replicasText(n int32) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func podsText[N int | int32](n N) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// podsTake is "1 pod takes" or "3 pods take".
func podsTake(n int32) string {
	if n == 1 {
		return "1 pod takes"
	}
	return podsText(n) + " take"
}

// has is what 1 pod has, or several have.
func has(pods int) string {
	if pods == 1 {
		return "has"
	}
	return "have"
}

// thereAre is "there is 1 pod" or "there are 3 pods".
func thereAre(pods int) string {
	if pods == 1 {
		return "there is 1 pod"
	}
	return fmt.Sprintf("there are %d pods", pods)
}

// podsIn says something of the pods of a group: of one or two by name.
func (w *writer) podsIn(r *metric.Result, group metric.Group, ofOne, ofMore string) string {
	const mostNames = 2
	var names []string
	n := 0
	for i, g := range r.Groups {
		if g != group {
			continue
		}
		if n++; i < len(w.Pods) {
			names = append(names, shortName(w.Pods[i].Name))
		}
	}
	switch {
	case n == 1 && len(names) == 1:
		return names[0] + " " + ofOne
	case n == 1:
		return "1 pod " + ofOne
	case n == mostNames && len(names) == mostNames:
		return names[0] + " and " + names[1] + " " + ofMore
	}
	return fmt.Sprintf("%d pods %s", n, ofMore)
}

// shortName is a pod's name without the middle of a long one: the end tells the pods of a workload apart.
func shortName(name string) string {
	const longest, end = 24, 5
	first, _, _ := strings.Cut(name, "-")
	if len(name) <= longest || len(first)+end+2 > longest {
		return name
	}
	return first + "-…" + name[len(name)-end:]
}

// goSelector and goSelectorEnd enclose the labels of a selector in upstream's messages, which print the value of Go's
// type.
const (
	goSelector    = "&LabelSelector{MatchLabels:map[string]string{"
	goSelectorEnd = "},MatchExpressions:[]LabelSelectorRequirement{},}"
)

// WithShortSelectors is a message with its selectors as kubectl takes them: service=jobs.
func WithShortSelectors(message string) string {
	before, rest, isThere := strings.Cut(message, goSelector)
	labels, after, isWhole := strings.Cut(rest, goSelectorEnd)
	if !isThere || !isWhole {
		return message
	}
	labels = strings.ReplaceAll(strings.TrimSuffix(labels, ","), ": ", "=")
	return before + labels + WithShortSelectors(after)
}

func (w *writer) clock(t time.Time) string { return Clock(t, w.At) }

// Clock is a time of the day, with the date if that is not the day of now.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	year, month, day := t.Date()
	if y, m, d := now.Date(); y != year || m != month || d != day {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("15:04:05")
}

// DurationText is a duration in short form: 30 s, 5 min.
func DurationText(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}

// seconds is a duration of some seconds, to the tenth.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2g s", d.Seconds()) }
