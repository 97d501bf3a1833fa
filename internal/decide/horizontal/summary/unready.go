package summary

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// unready names the pods that are not ready, where the metric that the count follows uses pods and the sentence does
// not name them yet.
func (w *writer) unready() string {
	r := w.winningMetric()
	switch {
	case r == nil || w.Pods == nil || w.Current == 0:
		return ""
	case r.Groups == nil:
		return w.unreadyReplicas(r)
	case r.Counts.Pods() != len(r.Groups)-r.Counts.Ignored:
		return ""
	}
	var names []string
	for i, g := range r.Groups {
		if g == metric.Counted && i < len(w.Pods) && w.Pods[i].Ready != metric.ReadyTrue {
			names = append(names, shortName(w.Pods[i].Name))
		}
	}
	switch n := len(names); {
	case n == 0:
		return w.starting(r)
	case n == 1:
		return "; " + names[0] + " is not ready"
	case n == r.Counts.Pods():
		return fmt.Sprintf("; none of %d pods is ready", n)
	default:
		return fmt.Sprintf("; %d of %d pods are not ready, such as %s", n, r.Counts.Pods(), names[0])
	}
}

// starting names the pods whose samples do not count, if the count stays: else they are the last change.
func (w *writer) starting(r *metric.Result) string {
	if r.Counts.Unready == 0 || w.Desired != w.Current {
		return ""
	}
	return "; " + w.unreadyText(r, "")
}

// unreadyText names the pods whose samples do not count: those that start, and those that are no longer ready, with
// what they do not do.
func (w *writer) unreadyText(r *metric.Result, verb string) string {
	again, all := 0, r.Counts.Unready
	for i, g := range r.Groups {
		if g == metric.Unready && i < len(w.Pods) && w.wasReady(&w.Pods[i]) {
			again++
		}
	}
	one, more := "is still starting", "are still starting"
	switch again {
	case 0:
		if w.areOfRollout(r) {
			one, more = one+" as a new pod of a rollout", more+" as new pods of a rollout"
		}
	case all:
		one, more = "is not ready", "are not ready"
	default:
		more = "are still starting or not ready"
	}
	if verb != "" {
		one, more = one+" and does not "+verb, more+" and do not "+verb
	}
	return w.podsIn(r, metric.Unready, one, more)
}

// areOfRollout reports whether all pods whose samples do not count have a newer template than pods of the same workload
// whose samples do.
func (w *writer) areOfRollout(r *metric.Result) bool {
	isOlder := func(of, than *metric.Pod) bool {
		none := metric.Revision{}
		areTwo := of.Revision != none && than.Revision != none && of.Revision != than.Revision
		return areTwo && workloadOf(of) == workloadOf(than) && of.StartTime.Before(than.StartTime)
	}
	isNew := func(pod *metric.Pod) bool {
		for i, g := range r.Groups {
			if g == metric.Counted && i < len(w.Pods) && isOlder(&w.Pods[i], pod) {
				return true
			}
		}
		return false
	}
	n := 0
	for i, g := range r.Groups {
		if g == metric.Unready && i < len(w.Pods) && isNew(&w.Pods[i]) {
			n++
		}
	}
	return n > 0 && n == r.Counts.Unready
}

// workloadOf is a pod's name up to its revision, or up to its last part where the revision is not in the name.
func workloadOf(pod *metric.Pod) string {
	if workload, _, found := strings.Cut(pod.Name, "-"+pod.Revision.String()+"-"); found {
		return workload
	}
	return pod.Name[:max(0, strings.LastIndexByte(pod.Name, '-'))]
}

// areReady reports whether all pods whose samples count are ready; false if that is not known.
func (w *writer) areReady(r *metric.Result) bool {
	for i, g := range r.Groups {
		if g == metric.Counted && (i >= len(w.Pods) || w.Pods[i].Ready != metric.ReadyTrue) {
			return false
		}
	}
	return r.Counts.Unsampled == 0
}

// wasReady reports whether a pod that is not ready has been: its readiness last changed long after its start.
func (w *writer) wasReady(pod *metric.Pod) bool {
	return pod.Phase == metric.PhaseRunning && pod.Ready == metric.ReadyFalse && !pod.StartTime.IsZero() &&
		pod.ReadyTransition.Sub(pod.StartTime) > max(w.Policy.InitialReadinessDelay, metric.PodStart)
}

// unreadyReplicas is how many replicas are ready, where a value for all is multiplied with these.
func (w *writer) unreadyReplicas(r *metric.Result) string {
	isMultiplied := r.Verdict == metric.Scaled && w.Proposed.Source == proposal.Metric &&
		w.Policy.Metrics[w.indexOf(r)].Target.Type == source.Value
	if !isMultiplied || w.readyPods() >= int(w.Current) {
		return ""
	}
	return "; " + w.onlyReady(r)
}
