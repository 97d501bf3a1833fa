package horizontal

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// Counts are the replica counts of a status, with its generation and the time of the last scaling.
type Counts struct {
	ObservedGeneration               *int64
	LastScaleTime                    *metav1.Time
	CurrentReplicas, DesiredReplicas int32
}

// IsObserved reports whether the object's status is about its current generation.
func (a Autoscaler) IsObserved() bool {
	observed := a.Counts().ObservedGeneration
	return observed != nil && *observed == a.Generation
}

func (a Autoscaler) shows(kind string) bool { return a.Condition(kind).Status == condition.True }

// InConflict reports whether the object's status has a conflict with a vertical autoscaler.
func (a Autoscaler) InConflict() bool { return a.shows(string(conflict.Condition)) }

// IsOverridden reports whether the object's status shows another writer of the replica count.
func (a Autoscaler) IsOverridden() bool { return a.shows(statusreport.ReplicasOverridden) }

// OtherWriter returns the other writer of the replica count that the object's status names; empty if it names none.
func (a Autoscaler) OtherWriter() string {
	if !a.IsOverridden() {
		return ""
	}
	return statusreport.OtherWriter(a.Condition(statusreport.ReplicasOverridden).Message)
}

// ScaledToZero reports whether the object's status shows that its controller scaled the target to zero.
func (a Autoscaler) ScaledToZero() bool { return a.shows(statusreport.ScaledToZero) }

// LimitedSince returns since when the object's status shows that more than maxReplicas is asked for; zero if it does
// not. ScalingLimited keeps its time while its reason changes, so that a change of the count that is later counts:
// since then the count has been maxReplicas.
func (a Autoscaler) LimitedSince() time.Time {
	c := a.Condition(statusreport.ScalingLimited)
	if c.Status != condition.True || c.Reason != behavior.TooManyReplicas.String() {
		return time.Time{}
	}
	if at := a.Counts().LastScaleTime; at != nil && at.After(c.Since) {
		return at.Time
	}
	return c.Since
}

// ForecastReplicas returns the count that the forecast of a WorkloadAutoscaler asks for in mode Active, as its status
// has it; 0 if it asks for none.
func (a Autoscaler) ForecastReplicas() int32 {
	if !a.IsWorkload() {
		return 0
	}
	f := a.Workload.Status.Forecast
	if f == nil || f.Mode != plimsollv1alpha1.ForecastActive {
		return 0
	}
	return ptr.Deref(f.Replicas, 0)
}

// FailureOf returns why metric i of a WorkloadAutoscaler cannot be read, as its status has it; empty if it can.
func (a Autoscaler) FailureOf(i int) string {
	if !a.IsWorkload() {
		return ""
	}
	name := a.Workload.Spec.Metrics[i].Name
	for k := range a.Workload.Status.Metrics {
		if m := &a.Workload.Status.Metrics[k]; m.Name == name && m.Failure != nil {
			return m.Failure.Message
		}
	}
	return ""
}

// Shown returns the conditions of a WorkloadAutoscaler that are True in its status.
func (a Autoscaler) Shown() horizontal.Shown {
	limited := a.Condition(statusreport.ScalingLimited)
	return horizontal.Shown{
		ScheduleActive: a.shows(statusreport.ScheduleActive), FallbackActive: a.shows(statusreport.FallbackActive),
		LimitedByPause: limited.Reason == mode.Paused.String(),
	}
}

// FirstState is the state in a controller that has just started. The last scaling may have been a scale-down; treating
// it as a scale-up only means waiting for a newer sample.
func FirstState(a Autoscaler) horizontal.State {
	s := horizontal.State{Version: horizontal.StateVersion}
	if at := a.Counts().LastScaleTime; at != nil {
		s.Count = history.Count{ChangedAt: at.Time, EffectiveAt: at.Time}
	}
	return s
}

// IsShown reports whether the object's status already shows the decision, except for messages and numbers of metrics:
// StatusAfter would then contain no news that anybody waits for. It costs next to nothing, and is true for nearly every
// decision.
func IsShown(a Autoscaler, d *horizontal.Decision, r *statusreport.Report) bool {
	for i := range r.Conditions {
		c := &r.Conditions[i]
		known := a.Condition(c.Type)
		if c.Transitioned || known.Status != c.Status || known.Reason != c.Reason {
			return false
		}
	}
	if !r.Counts {
		return !a.IsWorkload() || a.IsObserved()
	}
	return a.IsObserved() && a.showsCounts(d, r)
}

func (a Autoscaler) showsCounts(d *horizontal.Decision, r *statusreport.Report) bool {
	s := a.Counts()
	if s.CurrentReplicas != r.CurrentReplicas || r.Rescaled ||
		r.DesiredReplicas != nil && s.DesiredReplicas != *r.DesiredReplicas {
		return false
	}
	if !r.ShowMetrics {
		return a.numShown() == 0
	}
	if a.numShown() != min(a.NumMetrics(), len(d.Metrics)) {
		return false
	}
	for i := range a.numShown() {
		if d.Metrics[i].Pending {
			continue
		}
		var kind source.Type
		if d.Metrics[i].Failure == nil {
			kind = a.typeOf(i)
		}
		if a.shown(i).Type != kind {
			return false
		}
	}
	return true
}
