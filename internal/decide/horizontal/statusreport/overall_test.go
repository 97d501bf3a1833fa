package statusreport

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// TestOverall: a result of the object's own settings is no error. Each case has the reasons for which AbleToScale and
// ScalingActive are False, if they are, and the condition Ready.
func TestOverall(t *testing.T) {
	const yes, no = condition.True, condition.False
	for name, c := range map[string]struct {
		unable, inactive string
		mode             mode.Mode
		want             condition.Status
		reason           string
	}{
		"nothing is wrong":           {"", "", mode.Active, yes, "Active"},
		"a preview":                  {"", "", mode.Preview, yes, "Preview"},
		"a pause":                    {"", "", mode.Paused, yes, "Paused"},
		"a pause needs no metrics":   {"", "FailedGetPodsMetric", mode.Paused, yes, "Paused"},
		"a pause needs its own pods": {"", "AmbiguousSelector", mode.Paused, no, "AmbiguousSelector"},
		"a preview needs metrics":    {"", "FailedGetPodsMetric", mode.Preview, no, "FailedGetPodsMetric"},
		"no metric can be read":      {"", "FailedGetPodsMetric", mode.Active, no, "FailedGetPodsMetric"},
		"the target was put to 0":    {"", "ScalingDisabled", mode.Active, yes, "ScalingDisabled"},
		"the target is not there":    {"FailedGetScale", "", mode.Active, no, "FailedGetScale"},
		"a pause needs the target":   {"FailedGetScale", "", mode.Paused, no, "FailedGetScale"},
		"another one acts":           {AnotherAutoscaler, "", mode.Active, no, AnotherAutoscaler},
		"a pause beside another one": {AnotherAutoscaler, "", mode.Paused, no, AnotherAutoscaler},
		"only an edit helps":         {InvalidSpec, "", mode.Preview, no, InvalidSpec},
	} {
		got := Overall([]condition.Condition{conditionOf(AbleToScale, c.unable), conditionOf(ScalingActive, c.inactive)}, c.mode,
			"Stays at 3.")
		ready, stalled := find(got, Ready), find(got, Stalled)
		if ready.Status != c.want || ready.Reason != c.reason || ready.Message == "" {
			t.Errorf("%s: Ready is %+v, want %s %s", name, ready, c.want, c.reason)
		}
		if ready.Status == yes && ready.Message != "Stays at 3." {
			t.Errorf("%s: Ready says %q, and not what was decided", name, ready.Message)
		}
		if isStalled := c.unable == InvalidSpec; stalled.Status == no || (stalled.Status == yes) != isStalled {
			t.Errorf("%s: Stalled is %+v", name, stalled)
		}
	}
	for m, want := range map[mode.Mode]string{
		mode.Preview: "True Preview", mode.Active: "False " + AnotherAutoscaler, mode.Paused: "False " + AnotherAutoscaler,
	} {
		beside := condition.Condition{Type: AbleToScale, Status: yes, Reason: AnotherAutoscaler, Message: "HPA shop/web"}
		got := find(Overall([]condition.Condition{beside, conditionOf(ScalingActive, "")}, m, "Stays at 3."), Ready)
		if string(got.Status)+" "+got.Reason != want {
			t.Errorf("%s beside another one that it is to replace: Ready is %+v, want %s", m, got, want)
		}
	}
	if got := find(Overall([]condition.Condition{conditionOf(AbleToScale, "")}, mode.Active, ""), Ready); got.Status != no ||
		got.Reason != "AwaitingMetrics" {
		t.Errorf("before the first values Ready is %+v", got)
	}
}

// conditionOf returns a condition that is False if it has a reason.
func conditionOf(kind, reason string) condition.Condition {
	return condition.Condition{Type: kind, Status: condition.StatusOf(reason == ""), Reason: reason, Message: "why"}
}

// TestPreviewBeside: an object that may act warns of another autoscaler of its target, unless a migration removes that
// one. A preview, with which a migration begins, does not, and has no condition that is False.
func TestPreviewBeside(t *testing.T) {
	for m, isFault := range map[mode.Mode]bool{mode.Active: true, mode.Paused: true, mode.Preview: false} {
		d := &horizontal.Decision{
			Policy:  &horizontal.Policy{WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Mode: m}},
			Refusal: horizontal.Refusal{Reason: AnotherAutoscaler, Message: "HPA shop/web scales Deployment web"},
			Branch:  horizontal.BranchAwaiting,
		}
		report := Of(d, horizontal.Outcome{})
		check := func(what string, isFault bool) {
			t.Helper()
			isWarned := slices.ContainsFunc(report.Events, func(e Event) bool { return e.Reason == AnotherAutoscaler })
			able := find(report.Conditions, AbleToScale)
			if isWarned != isFault || able.Reason != AnotherAutoscaler || able.Status != condition.StatusOf(!isFault) {
				t.Errorf("%s, %s: %+v", m, what, report)
			}
		}
		check("beside an HPA", isFault)
		d.Refusal.IsExpected = true
		report = Of(d, horizontal.Outcome{})
		check("while a migration removes the HPA, and after it", false)
		d.Branch = horizontal.BranchNoScale
		report = Of(d, horizontal.Outcome{})
		able := find(report.Conditions, AbleToScale)
		if able.Reason != "FailedGetScale" || able.Status != condition.False {
			t.Errorf("%s without a target: %+v", m, able)
		}
		ready := find(Overall(report.Conditions, m, ""), Ready)
		if ready.Reason != "FailedGetScale" || ready.Status != condition.False {
			t.Errorf("%s without a target: Ready is %+v", m, ready)
		}
	}
}
