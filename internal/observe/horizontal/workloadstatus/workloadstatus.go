// Package workloadstatus translates decisions to the status of WorkloadAutoscalers.
package workloadstatus

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Decided has the inputs of the status of a WorkloadAutoscaler.
type Decided struct {
	// Status is the part that an HPA has too.
	Status   *observehorizontal.Status
	Policy   *horizontal.Policy
	Decision *horizontal.Decision
	Next     horizontal.FollowUp
}

// Of returns the status of a WorkloadAutoscaler after the decision. The object is only read.
func Of(a observehorizontal.Autoscaler, w *Decided) plimsollv1alpha1.WorkloadAutoscalerStatus {
	common, d := w.Status, w.Decision
	status := plimsollv1alpha1.WorkloadAutoscalerStatus{
		ObservedGeneration: common.ObservedGeneration, LastScaleTime: common.LastScaleTime,
		CurrentReplicas: common.CurrentReplicas, DesiredReplicas: common.DesiredReplicas,
		Metrics: w.metrics(a), Conditions: w.conditions(a),
	}
	status.Summary = &plimsollv1alpha1.Summary{Reason: w.why(), Metrics: w.metricsText(a, status.Metrics)}
	status.LastScaleDecision = w.lastDecision(a)
	if d.Branch == horizontal.BranchNoScale {
		return status
	}
	bounds := d.Bounds
	status.EffectiveMinReplicas, status.EffectiveMaxReplicas = &bounds.MinReplicas, &bounds.MaxReplicas
	status.Proposals, status.Limit, status.Next = w.proposals(), w.limit(), w.next()
	status.Forecast = w.forecast()
	for i := range d.Schedules.InForce {
		active := &d.Schedules.InForce[i]
		status.ActiveSchedules = append(status.ActiveSchedules, plimsollv1alpha1.ActiveSchedule{
			Name: active.Schedule.Name, Until: timeOf(active.Until),
		})
	}
	return status
}

// HasMoved reports whether the decision changes the limits, the schedules in force, the next change, the samples, the
// decision or the forecast of the object's status. None of these may ever come with another count, condition or number.
// It computes no status: nearly always nothing has moved.
func HasMoved(a observehorizontal.Autoscaler, w *Decided) bool {
	before, d := &a.Workload.Status, w.Decision
	isWithoutReady := meta.FindStatusCondition(before.Conditions, statusreport.Ready) == nil
	if d.Branch == horizontal.BranchNoScale {
		return isWithoutReady || before.EffectiveMaxReplicas != nil
	}
	return isWithoutReady || w.boundsMoved(before) || differs(before.Limit, w.limit()) ||
		w.forecastMoved(before.Forecast) || nextDiffers(before.Next, w.next()) || w.samplesMoved(before.Metrics) ||
		w.decisionMoved(before.LastScaleDecision)
}

// HasMovedClearly reports whether the decision changes the limits or the schedules in force of the object's status, or
// values of metrics by more than noise.
func HasMovedClearly(a observehorizontal.Autoscaler, w *Decided) bool {
	return w.Decision.Branch != horizontal.BranchNoScale &&
		(w.boundsMoved(&a.Workload.Status) || w.valuesMoved(a.Workload.Status.Metrics))
}

func (w *Decided) boundsMoved(before *plimsollv1alpha1.WorkloadAutoscalerStatus) bool {
	d := w.Decision
	return differs(before.EffectiveMinReplicas, &d.Bounds.MinReplicas) ||
		differs(before.EffectiveMaxReplicas, &d.Bounds.MaxReplicas) ||
		!slices.EqualFunc(before.ActiveSchedules, d.Schedules.InForce, isShown)
}

func differs[T comparable](a, b *T) bool { return (a == nil) != (b == nil) || a != nil && *a != *b }

func nextDiffers(a, b *plimsollv1alpha1.Next) bool {
	return (a == nil) != (b == nil) ||
		a != nil && (!a.Time.Equal(&b.Time) || a.Reason != b.Reason || a.Message != b.Message)
}

func isShown(shown plimsollv1alpha1.ActiveSchedule, active schedules.InForce) bool {
	return shown.Name == active.Schedule.Name && shown.Until.Equal(timeOf(active.Until))
}

// timeOf returns a time in the form of a status: in seconds, or absent.
func timeOf(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	t := metav1.NewTime(at.Truncate(time.Second))
	return &t
}

func (w *Decided) proposals() []plimsollv1alpha1.Proposal {
	var list []plimsollv1alpha1.Proposal
	for _, p := range w.Decision.Proposals(nil) {
		if p.Source != proposal.Metric {
			list = append(list, plimsollv1alpha1.Proposal{
				Source: plimsollv1alpha1.ProposalSource(p.Source.String()), Name: w.nameOf(p), Replicas: p.Replicas,
			})
		}
	}
	return list
}

func (w *Decided) limit() *plimsollv1alpha1.Limit {
	limit := projection.BindingLimit(w.Decision)
	if limit == projection.None {
		return nil
	}
	return &plimsollv1alpha1.Limit{Reason: limitWord(limit), Message: limit.String()}
}

func (w *Decided) next() *plimsollv1alpha1.Next {
	n := &w.Next
	if n.DecideAt.IsZero() {
		return nil
	}
	next := &plimsollv1alpha1.Next{Time: *timeOf(n.DecideAt), Reason: n.Reason.String()}
	switch {
	case n.Schedule != "":
		next.Message = "schedule " + n.Schedule
	case n.Reason == trigger.FallbackDue && n.Metric < len(w.Policy.Metrics):
		next.Message = "metric " + w.metricName(n.Metric)
	}
	return next
}
