package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// cause is why a metric cannot be read: the pods, where none of them counts, or else what its source says.
func (w *writer) cause(i int) string {
	r := &w.Metrics[i]
	switch n := &r.Counts; {
	case r.NoContainer > 0 && (r.NoContainer == n.Pods() || strings.Contains(r.Failure.Message, " not found in Pod ")):
		return w.withoutContainer(i)
	case n.Counted == 0 && n.Missing == 0 && n.Unready > 0:
		return w.unreadyText(r, "")
	case w.Policy.Metrics[i].IsPerPod() && w.haveNoPods(r.Failure.Message):
		return "there are no pods"
	case w.Policy.Metrics[i].IsPerPod() && w.areAllPending():
		return w.pendingText()
	case n.Counted == 0 && n.Missing > 0 && strings.Contains(r.Failure.Message, "did not receive metrics"):
		return w.podsIn(r, metric.Missing, "has no sample", "have no sample")
	}
	return FailureText(&w.Policy.Metrics[i], r.Failure.Message) + w.unreadNodes(r.Failure.Message)
}

// unreadNodes is why there are no samples of the nodes either, where a metric fails because metrics.k8s.io has none.
func (w *writer) unreadNodes(failure string) string {
	const ofAPI = "unable to get metrics for resource"
	nodes := "their nodes"
	switch n := w.Unread.Nodes; {
	case w.Unread.Error == "" || !strings.Contains(failure, ofAPI):
		return ""
	case n == 1:
		nodes = "their node"
	case n > 1:
		nodes = fmt.Sprintf("%d of their nodes", n)
	}
	return fmt.Sprintf(", and %s cannot be read: %s", nodes, w.Unread.Error)
}

// FailureText is why a metric cannot be read, without the prefixes that name it, which the sentence does itself.
func FailureText(spec *source.Spec, message string) string {
	if api := spec.Type.Group(); api != "" && strings.Contains(message, noResource) {
		return "the cluster has no API " + api + ", see kubectl get apiservices"
	}
	bare := spec.Bare(message)
	if bare == "no metrics returned from "+source.Resource.Origin() {
		return "metrics.k8s.io has no samples of the pods"
	}
	return WithShortSelectors(bare)
}

// haveNoPods reports whether a metric fails for want of pods, and not of an answer.
func (w *writer) haveNoPods(failure string) bool {
	return len(w.Pods) == 0 && w.Target.StatusReplicas == 0 && w.Current > 0 &&
		(strings.Contains(failure, "no metrics returned") || strings.Contains(failure, "no pods returned"))
}

// areAllPending reports whether there are pods and none of them runs: its kubelet has nothing to report.
func (w *writer) areAllPending() bool {
	isStarted := func(p metric.Pod) bool { return p.Phase != metric.PhasePending }
	return len(w.Pods) > 0 && !slices.ContainsFunc(w.Pods, isStarted)
}

func (w *writer) pendingText() string {
	if n := len(w.Pods); n > 1 {
		return fmt.Sprintf("all %d pods are Pending", n)
	}
	return "the only pod is Pending"
}
