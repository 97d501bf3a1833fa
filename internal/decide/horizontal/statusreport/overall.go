package statusreport

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// The types of the conditions that sum up the others of a WorkloadAutoscaler, for kubectl wait and for GitOps tools.
// GitOps tools use kstatus (sigs.k8s.io/cli-utils/pkg/kstatus): Ready that is True is Current, Ready that is False is
// InProgress, and Stalled that is True is Failed. Stalled is absent otherwise.
const (
	Ready   = "Ready"
	Stalled = "Stalled"
)

// The reasons of AbleToScale that Overall and the status distinguish.
const (
	// InvalidSpec: the spec contains impossible values.
	InvalidSpec = "InvalidSpec"
	// AnotherAutoscaler: the target has another autoscaler.
	AnotherAutoscaler = "TargetHasAnotherAutoscaler"

	scalingDisabled   = "ScalingDisabled"
	ambiguousSelector = "AmbiguousSelector"
)

// IsOverall reports whether conditions of the type summarize others.
func IsOverall(kind string) bool { return kind == Ready || kind == Stalled }

// Overall summarizes the conditions of a WorkloadAutoscaler. It is Ready while it works as specified: also while its
// mode writes no replica count, or while another writer has scaled its target to zero. The summary is the decision in a
// sentence, the message while it is Ready.
func Overall(conditions []condition.Condition, m mode.Mode, summary string) []condition.Condition {
	var r Report
	able, active := find(conditions, AbleToScale), find(conditions, ScalingActive)
	isWaiting := m != mode.Preview && able.Reason == AnotherAutoscaler
	switch {
	case able.Status == condition.False || isWaiting:
		r.Set(Ready, false, able.Reason, able.Message)
	case active.Status == condition.False && active.Reason == ambiguousSelector:
		r.Set(Ready, false, active.Reason, active.Message) // Not even the count of a pause is set.
	case m == mode.Paused:
		r.Set(Ready, true, mode.Paused.String(), summary)
	case active.Status == condition.False && active.Reason == scalingDisabled:
		r.Set(Ready, true, scalingDisabled, summary)
	case active.Status == condition.False:
		r.Set(Ready, false, active.Reason, active.Message)
	case active.Status == "":
		r.Set(Ready, false, "AwaitingMetrics", "no metric has a value yet")
	case m == mode.Preview:
		r.Set(Ready, true, mode.Preview.String(), summary)
	default:
		r.Set(Ready, true, mode.Active.String(), summary)
	}
	if able.Status == condition.False && able.Reason == InvalidSpec {
		r.Set(Stalled, true, InvalidSpec, able.Message)
	}
	return r.Conditions
}

// find returns the condition of a type; one without a status if it is missing.
func find(conditions []condition.Condition, kind string) condition.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition.Condition{}
}
