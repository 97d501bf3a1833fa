package summary

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// excess is how much more there is than the most replicas take. It is said in load only where more pods share it, and
// where it is no load that pods without samples are counted for, or that new pods may have by their start.
func (w *writer) excess() string {
	r := w.winningMetric()
	switch {
	case r == nil && w.Winner().Source == proposal.Surge && !w.Rescale:
		return "; " + w.bySurge() + w.newText(&w.Metrics[w.Surge.Metric])
	case r == nil && !w.sharesAll():
		return ""
	case r == nil:
		return w.excessLoad()
	}
	if text := w.excessOf(r); text != "" {
		return "; " + text
	}
	if !w.sharesAll() {
		return ""
	}
	load, start := w.excessLoad(), w.newText(r)
	if load != "" && start != "" {
		return "; " + w.valueOf(w.indexOf(r)) + start // How much of it is load is not known.
	}
	return load
}

// excessOf is why what the metric asks for is no load that is known; empty if it is one.
func (w *writer) excessOf(r *metric.Result) string {
	i := w.indexOf(r)
	switch spec := &w.Policy.Metrics[i]; {
	case r.Ratio > 1 && r.Replicas < projection.Plain(w.Decision, r) && r.Counts.Missing > 0 && r.NoContainer == 0:
		return w.withoutSample(r, 0) + w.countedAs(r) + w.ifTheSame(r)
	case mayStay(spec) && r.Ratio > 1:
		return w.valueOf(i) + ", and more pods help only if they lower it"
	case !sharesLoad(spec) && r.Ratio > 1:
		return w.valueOf(i)
	}
	return ""
}

// excessLoad is how much more load there is than the pods take; empty if that is not known.
func (w *writer) excessLoad() string {
	const many, most = 2, 99
	pods, least := float64(w.Desired), ""
	if w.Load.IsCapped {
		least = "at least "
	}
	switch times := w.Load.Pods / pods; {
	case !w.Load.IsKnown || !(w.Load.Pods > pods) || w.Desired <= 0:
		return ""
	case times < many:
		return fmt.Sprintf("; %s%s more load than %s at the target", least, percent(times-1), podsTake(w.Desired))
	case times > most:
		return fmt.Sprintf("; more than %d times the load that %s at the target", most, podsTake(w.Desired))
	default:
		return fmt.Sprintf("; %s%.1f times the load that %s at the target", least, times, podsTake(w.Desired))
	}
}

// sharesLoad reports whether each pod has less of what a metric measures if there are more pods: CPU, events per second
// of the pods, and what is divided by their number. Whether a pod's memory, queue or latency falls is not known.
func sharesLoad(spec *source.Spec) bool {
	switch {
	case spec.IsCPU():
		return true
	case spec.Target.Type == source.Value:
		return false
	}
	return spec.IsRate || spec.HasValueWithoutPods()
}

// sharesAll reports whether pods share what each metric measures that is above its target.
func (w *writer) sharesAll() bool {
	for i := range w.Metrics {
		if r := &w.Metrics[i]; r.Failure == nil && r.Ratio > 1 && !sharesLoad(&w.Policy.Metrics[i]) {
			return false
		}
	}
	return true
}

// mayStay reports whether a metric often has the same value however many pods there are: memory, and a value that is
// compared with the target whole.
func mayStay(spec *source.Spec) bool {
	isResource := spec.Type == source.Resource || spec.Type == source.ContainerResource
	return isResource && !spec.IsCPU() || spec.Target.Type == source.Value
}

// countedAs is what pods without a sample count as while more is asked for; empty otherwise. Of the pods that Plimsoll
// reads itself, one that no longer responds counts with its last value.
func (w *writer) countedAs(r *metric.Result) string {
	spec := &w.Policy.Metrics[w.indexOf(r)]
	if r.Ratio <= 1 || r.Replicas >= projection.Plain(w.Decision, r) || spec.IsPodEndpoint() {
		return ""
	}
	if r.Counts.Missing == 1 {
		return " and counts as using nothing"
	}
	return " and count as using nothing"
}

// newPods is how many of the pods that count are in the initialization period of CPU samples, and since when the first
// of these has run.
func (w *writer) newPods(r *metric.Result) (n int, since time.Time) {
	for i, g := range r.Groups {
		if g != metric.Counted || i >= len(w.Pods) || w.Pods[i].StartTime.IsZero() ||
			w.age(i) >= w.Policy.CPUInitializationPeriod {
			continue
		}
		if n++; n == 1 || w.Pods[i].StartTime.Before(since) {
			since = w.Pods[i].StartTime
		}
	}
	return n, since
}

// newText is which pods have just started, where their start may be a part of their use of CPU; empty if these are not
// more than half of those that count.
func (w *writer) newText(r *metric.Result) string {
	n, since := w.newPods(r)
	if 2*n <= r.Counts.Counted || !w.Policy.Metrics[w.indexOf(r)].IsCPU() {
		return ""
	}
	of := fmt.Sprintf("%d of %d have", n, r.Counts.Counted)
	switch {
	case r.Counts.Counted == 1:
		of = "the only one has"
	case n == r.Counts.Counted:
		of = fmt.Sprintf("all %d have", n)
	}
	return fmt.Sprintf(", a part of which may be the start of the pods: %s started since %s", of, w.clock(since))
}
