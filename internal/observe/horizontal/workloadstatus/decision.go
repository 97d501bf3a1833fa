package workloadstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trace"
)

// DecisionOf is a decision as KEP-6107 has it. It keeps the time of the one that is shown if both mean the same.
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
	if shown != nil && t.IsSame(traceOf(shown)) {
		decision.Time = metav1.Time{Time: shown.Time.Time}
	}
	return decision
}

// traceOf is what a status shows.
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

// decisionMoved reports whether the decision means something else than the one that is shown.
func (w *Decided) decisionMoved(shown *plimsollv1alpha1.ScaleDecision) bool {
	t := trace.Of(w.Decision)
	if t == nil || shown == nil {
		return (t == nil) != (shown == nil)
	}
	return !t.IsSame(traceOf(shown))
}
