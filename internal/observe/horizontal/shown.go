package horizontal

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// Counts are the replica counts of a status, with what they are about and when the target was last scaled.
type Counts struct {
	ObservedGeneration               *int64
	LastScaleTime                    *metav1.Time
	CurrentReplicas, DesiredReplicas int32
}

// IsObserved reports whether the object's status is about the object as it is.
func (a Autoscaler) IsObserved() bool {
	observed := a.Counts().ObservedGeneration
	return observed != nil && *observed == a.Generation
}

func (a Autoscaler) shows(kind string) bool { return a.Condition(kind).Status == condition.True }

// InConflict reports whether the object's status says that a vertical autoscaler is in its way.
func (a Autoscaler) InConflict() bool { return a.shows(string(conflict.Condition)) }

// IsOverridden reports whether the object's status says that another writer sets the replica count too.
func (a Autoscaler) IsOverridden() bool { return a.shows(statusreport.ReplicasOverridden) }

// ScaledToZero reports whether the object's status says that its controller scaled the target to zero.
func (a Autoscaler) ScaledToZero() bool { return a.shows(statusreport.ScaledToZero) }

// Shown are the conditions of a WorkloadAutoscaler that are True in its status.
func (a Autoscaler) Shown() horizontal.Shown {
	limited := a.Condition(statusreport.ScalingLimited)
	return horizontal.Shown{
		ScheduleActive: a.shows(statusreport.ScheduleActive), FallbackActive: a.shows(statusreport.FallbackActive),
		LimitedByPause: limited.Reason == mode.Paused.String(),
	}
}

// FirstState is what a controller that has just started knows of the object's past. The last scaling may have been a
// scale-down; to take it for a scale-up only means to wait for a newer sample.
func FirstState(a Autoscaler) horizontal.State {
	s := horizontal.State{Version: horizontal.StateVersion}
	if at := a.Counts().LastScaleTime; at != nil {
		s.Count = history.Count{ChangedAt: at.Time, EffectiveAt: at.Time}
	}
	return s
}

// IsShown reports whether the object's status already says what the decision says, but
// for messages and numbers of metrics: what StatusAfter would make of it is then no news that
// anybody waits for. It costs next to nothing, and nearly every decision is like that.
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
