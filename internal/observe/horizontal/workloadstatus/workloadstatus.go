// Package workloadstatus translates decisions to the status of WorkloadAutoscalers.
package workloadstatus

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
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

// Decided is what the status of a WorkloadAutoscaler is made of.
type Decided struct {
	// Status is the part that an HPA has too.
	Status   *autoscalingv2.HorizontalPodAutoscalerStatus
	Policy   *horizontal.Policy
	Decision *horizontal.Decision
	Next     horizontal.FollowUp
}

// Of is the status of a WorkloadAutoscaler after the decision. The object is only read.
func Of(a observehorizontal.Autoscaler, w *Decided) plimsollv1alpha1.WorkloadAutoscalerStatus {
	common, d := w.Status, w.Decision
	status := plimsollv1alpha1.WorkloadAutoscalerStatus{
		ObservedGeneration: common.ObservedGeneration, LastScaleTime: common.LastScaleTime,
		CurrentReplicas: common.CurrentReplicas, DesiredReplicas: common.DesiredReplicas,
		CurrentMetrics: common.CurrentMetrics, Conditions: conditionsOf(common.Conditions, a.Generation),
		Metrics: w.metricsText(a), Reason: w.reason(),
	}
	if d.Branch == horizontal.BranchNoScale {
		return status
	}
	bounds := d.Bounds
	status.MinReplicas, status.MaxReplicas = &bounds.MinReplicas, &bounds.MaxReplicas
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

// HasMoved reports whether the object's status has other limits, other schedules in force, another next change or
// another forecast than after the decision. None of these may ever come with another count, condition or number. It
// makes no status: nearly always nothing has moved.
func HasMoved(a observehorizontal.Autoscaler, w *Decided) bool {
	before, d := &a.Workload.Status, w.Decision
	if d.Branch == horizontal.BranchNoScale {
		return before.MaxReplicas != nil
	}
	return differs(before.MinReplicas, &d.Bounds.MinReplicas) || differs(before.MaxReplicas, &d.Bounds.MaxReplicas) ||
		differs(before.Limit, w.limit()) || w.forecastMoved(before.Forecast) || nextDiffers(before.Next, w.next()) ||
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

// timeOf is a time as status has it: in seconds, or absent.
func timeOf(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	t := metav1.NewTime(at.Truncate(time.Second))
	return &t
}

// reason is the word that the column WHY prints: why the object does not act, the limit that made
// the count what it is, or what proposed it.
func (w *Decided) reason() string {
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		if string(c.Type) == statusreport.AbleToScale && c.Status == "False" {
			return c.Reason
		}
	}
	if limit := projection.BindingLimit(w.Decision); limit != projection.None {
		return limitWord(limit)
	}
	winner := w.Decision.Winner()
	if winner.Source == proposal.Forecast {
		return winner.Source.String()
	}
	return w.nameOf(winner)
}

// nameOf is the metric or schedule that a proposal comes from.
func (w *Decided) nameOf(p proposal.Proposal) string {
	switch p.Source {
	case proposal.Metric, proposal.Surge, proposal.Fallback:
		return w.Policy.Metrics[p.Index].ShortName()
	case proposal.Schedule:
		if p.Index < len(w.Decision.Schedules.InForce) {
			return w.Decision.Schedules.InForce[p.Index].Schedule.Name
		}
	}
	return ""
}

func (w *Decided) proposals() []plimsollv1alpha1.Proposal {
	d := w.Decision
	var list []plimsollv1alpha1.Proposal
	for _, p := range d.Proposals(nil) {
		replicas := p.Replicas
		shown := plimsollv1alpha1.Proposal{
			Source: plimsollv1alpha1.ProposalSource(p.Source.String()), Name: w.nameOf(p), Replicas: &replicas,
		}
		if p.Source == proposal.Metric {
			shown.SampleTime = timeOf(d.Metrics[p.Index].At)
			shown.Message = sampleText(&d.Metrics[p.Index].Counts)
		}
		list = append(list, shown)
	}
	for i := range d.Metrics {
		if failure := d.Metrics[i].Failure; failure != nil {
			list = append(list, plimsollv1alpha1.Proposal{
				Source: plimsollv1alpha1.ProposalSourceMetric, Name: w.Policy.Metrics[i].ShortName(),
				Message: shorten(failure.Message, mostOfProposal),
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
	return &plimsollv1alpha1.Limit{Name: limitWord(limit), Message: limit.String()}
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
		next.Message = "metric " + w.Policy.Metrics[n.Metric].ShortName()
	}
	return next
}

// conditionsOf are conditions as a WorkloadAutoscaler has them.
func conditionsOf(
	list []autoscalingv2.HorizontalPodAutoscalerCondition, generation int64,
) []metav1.Condition {
	conditions := make([]metav1.Condition, len(list))
	for i := range list {
		c := &list[i]
		conditions[i] = metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), ObservedGeneration: generation,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: shorten(c.Message, mostOfCondition),
		}
	}
	return conditions
}
