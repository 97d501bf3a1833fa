package workloadstatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// conditions returns those that an HPA has too, after those that summarize them.
func (w *Decided) conditions(a observehorizontal.Autoscaler) []metav1.Condition {
	// The message of Ready alone is no reason to write a status: the sentence is as of the last write, as numbers are.
	in := summary.Input{Decision: w.Decision, TargetKind: a.Target().Kind}
	all := statusreport.Overall(w.Status.Conditions, w.mode(), summary.Of(in).Text)
	for i := range all {
		all[i].Since = w.Decision.At
		shown := meta.FindStatusCondition(a.Workload.Status.Conditions, all[i].Type)
		if shown != nil && string(shown.Status) == string(all[i].Status) {
			all[i].Since = shown.LastTransitionTime.Time
		}
	}
	all = append(all, w.Status.Conditions...)
	conditions := make([]metav1.Condition, len(all))
	for i := range all {
		c := &all[i]
		conditions[i] = metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status), ObservedGeneration: a.Generation,
			LastTransitionTime: metav1.NewTime(c.Since), Reason: c.Reason, Message: shorten(c.Message, mostOfCondition),
		}
	}
	return conditions
}

func (w *Decided) mode() mode.Mode {
	if own := w.Policy.WorkloadAutoscaler; own != nil {
		return own.Mode
	}
	return mode.Active
}
