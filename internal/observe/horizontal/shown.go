package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// IsShown reports whether the object's status already says what the decision says, but
// for messages and numbers of metrics: what Status would make of it is then no news that
// anybody waits for. It costs next to nothing, and nearly every decision is like that.
func IsShown(of Autoscaler, d *horizontal.Decision, r *statusreport.Report) bool {
	old := of.HorizontalPodAutoscaler
	for i := range r.Conditions {
		if !showsCondition(old.Status.Conditions, &r.Conditions[i]) {
			return false
		}
	}
	if !r.Counts {
		return of.Workload == nil || isObserved(old)
	}
	return isObserved(old) && showsCounts(old, d, r)
}

// isObserved reports whether the status is about the object as it is.
func isObserved(old *autoscalingv2.HorizontalPodAutoscaler) bool {
	observed := old.Status.ObservedGeneration
	return observed != nil && *observed == old.Generation
}

func showsCondition(list []autoscalingv2.HorizontalPodAutoscalerCondition, c *condition.Condition) bool {
	for i := range list {
		if known := &list[i]; string(known.Type) == c.Type {
			return !c.Transitioned && string(known.Status) == string(c.Status) && known.Reason == c.Reason
		}
	}
	return false
}

func showsCounts(old *autoscalingv2.HorizontalPodAutoscaler, d *horizontal.Decision, r *statusreport.Report) bool {
	s := &old.Status
	if s.CurrentReplicas != r.CurrentReplicas || r.Rescaled ||
		r.DesiredReplicas != nil && s.DesiredReplicas != *r.DesiredReplicas {
		return false
	}
	if !r.ShowMetrics {
		return len(s.CurrentMetrics) == 0
	}
	if len(s.CurrentMetrics) != min(len(old.Spec.Metrics), len(d.Metrics)) {
		return false
	}
	for i := range s.CurrentMetrics {
		if d.Metrics[i].Pending {
			continue
		}
		var kind autoscalingv2.MetricSourceType
		if d.Metrics[i].Failure == nil {
			kind = old.Spec.Metrics[i].Type
		}
		if s.CurrentMetrics[i].Type != kind {
			return false
		}
	}
	return true
}
