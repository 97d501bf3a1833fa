package workloadstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trace"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// lastDecision returns the decision in the form of KEP-6107, or that of the old status if there is no other.
func (w *Decided) lastDecision(a observehorizontal.Autoscaler) *plimsollv1alpha1.ScaleDecision {
	shown := a.Workload.Status.LastScaleDecision
	if w.isUndecided() {
		return shown.DeepCopy()
	}
	return DecisionOf(w.Decision, a.Generation, shown)
}

// isUndecided reports whether there is temporarily no proposed count: the scale cannot be read, or samples are awaited,
// as after each change of the count.
func (w *Decided) isUndecided() bool {
	switch w.Decision.Branch {
	case horizontal.BranchNoScale:
		return true
	case horizontal.BranchAwaiting:
		return w.mode() != mode.Paused
	}
	return false
}

// DecisionOf converts a decision to the form of KEP-6107. It keeps the time of the old status if both mean the same for
// one generation of the object, which the indices of the metrics refer to.
func DecisionOf(
	d *horizontal.Decision, generation int64, shown *plimsollv1alpha1.ScaleDecision,
) *plimsollv1alpha1.ScaleDecision {
	t := trace.Of(d)
	if t == nil {
		return nil
	}
	decision := &plimsollv1alpha1.ScaleDecision{
		Time: *timeOf(d.At), CurrentReplicas: t.Current, RecommendedReplicas: t.Recommended, DesiredReplicas: t.Desired,
		Reason: plimsollv1alpha1.ScaleDecisionReason(t.Reason),
	}
	if generation > 0 {
		decision.ObservedGeneration = &generation
	}
	for _, m := range t.Metrics {
		decision.Metrics = append(decision.Metrics, plimsollv1alpha1.ScaleDecisionMetric{
			MetricIndex: m.Index, ProposedReplicas: m.Proposed, Status: m.Status, Reason: m.Reason,
		})
	}
	for _, c := range t.Constraints {
		decision.Constraints = append(decision.Constraints, plimsollv1alpha1.ScaleDecisionConstraint(c))
	}
	if shown != nil && t.IsSame(traceOf(shown)) && !differs(decision.ObservedGeneration, shown.ObservedGeneration) {
		decision.Time = metav1.Time{Time: shown.Time.Time}
	}
	return decision
}

func traceOf(shown *plimsollv1alpha1.ScaleDecision) *trace.Trace {
	t := &trace.Trace{
		Current: shown.CurrentReplicas, Desired: shown.DesiredReplicas, Recommended: shown.RecommendedReplicas,
		Reason: string(shown.Reason),
	}
	for _, m := range shown.Metrics {
		t.Metrics = append(t.Metrics, trace.Metric{
			Index: m.MetricIndex, Proposed: m.ProposedReplicas, Status: m.Status, Reason: m.Reason,
		})
	}
	for _, c := range shown.Constraints {
		t.Constraints = append(t.Constraints, string(c))
	}
	return t
}

// decisionMoved reports whether the decision has another result than that of the old status. Other numbers of the
// metrics are no reason to write.
func (w *Decided) decisionMoved(shown *plimsollv1alpha1.ScaleDecision) bool {
	if w.isUndecided() {
		return false
	}
	t := trace.Of(w.Decision)
	if t == nil || shown == nil {
		return (t == nil) != (shown == nil)
	}
	return !t.HasSameResult(traceOf(shown))
}
