package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

const (
	yes = true
	no  = false

	down      = "unable to get external metric shop/queue/nil: unable to fetch metrics from external metrics API: down"
	downError = "failed to get queue external metric value: failed to get queue external metric: " + down
)

// Many reports share these conditions.
func got() condition.Condition {
	return set("AbleToScale", yes, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
}

func ready() condition.Condition {
	return set("AbleToScale", yes, "ReadyForNewScale", "recommended size matches current size")
}

func wrote(size string) condition.Condition {
	return set("AbleToScale", yes, "SucceededRescale", "the HPA controller was able to update the target scale to "+size)
}

func valid() condition.Condition {
	return set("ScalingActive", yes, "ValidMetricFound",
		"the HPA was able to successfully calculate a replica count from external metric queue(nil)")
}

func inRange() condition.Condition {
	return set("ScalingLimited", no, "DesiredWithinRange", "the desired count is within the acceptable range")
}

func notZero() condition.Condition {
	return set("ScaledToZero", no, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
}

func set(kind string, status bool, reason, message string) condition.Condition {
	return condition.Condition{Type: kind, Status: condition.StatusOf(status), Reason: reason, Message: message}
}

func warning(reason, message string) statusreport.Event {
	return statusreport.Event{Warning: true, Reason: reason, Message: message}
}

func rescaled(message string) statusreport.Event {
	return statusreport.Event{Reason: "SuccessfulRescale", Message: message}
}

// TestReport checks the texts of each branch, with every divergence and with
// none (upstream: pkg/controller/podautoscaler/horizontal.go, v1.37.1).
func TestReport(t *testing.T) {
	type conditions = []condition.Condition
	type events = []statusreport.Event
	n := func(x int32) *int32 { return &x }
	unreadable := see(3)
	unreadable.Target.Error = `deployments.apps "web" not found`
	invalid := selecting(see(3), podselector.Invalid)
	invalid.Target.Selector.Message = "couldn't convert selector into a corresponding internal selector object: x"
	invalidOut := invalid
	invalidOut.Target.SpecReplicas = 20
	ambiguous := selecting(see(3), podselector.Ambiguous)
	twice := func(p *horizontal.Policy) { p.Metrics = []source.Spec{queue(), queue()} }
	object := func(p *horizontal.Policy) {
		p.Metrics[0].Type, p.Metrics[0].Object = source.Object, source.ObjectRef{Kind: "Service", Name: "web"}
	}
	conflict := horizontal.Outcome{At: noon, Error: "the object has been modified"}

	for name, tt := range map[string]struct {
		reason      string
		change      func(*horizontal.Policy)
		state       horizontal.State
		observation horizontal.Observation
		outcome     horizontal.Outcome
		// truth is the report with every divergence, upstream the one with none if that differs.
		truth    statusreport.Report
		upstream *statusreport.Report
	}{
		"scale not read": {
			reason: "status keeps its counts", observation: unreadable,
			truth: statusreport.Report{
				Conditions: conditions{set("AbleToScale", no, "FailedGetScale",
					`the HPA controller was unable to get the target's current scale: deployments.apps "web" not found`)},
				Events: events{warning("FailedGetScale", `deployments.apps "web" not found`)},
				Error:  `deployments.apps "web" not found`,
			},
		},
		"zero": {
			reason: "switched off", observation: see(0),
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "ScalingDisabled",
					"scaling is disabled since the replica count of the target is zero")},
				Counts: true, DesiredReplicas: n(0),
			},
		},
		"no selector": {
			reason:      "the event's reason differs from the condition's",
			observation: selecting(see(3), podselector.Missing),
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "InvalidSelector",
					"the HPA target's scale is missing a selector")},
				Events: events{
					warning("SelectorRequired", "selector is required"),
					warning("FailedComputeMetricsReplicas", "selector is required"),
				},
				Counts: true, CurrentReplicas: 3, Error: "selector is required",
			},
		},
		"invalid selector": {
			reason: "the parser's message", observation: invalid,
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "InvalidSelector", invalid.Target.Selector.Message)},
				Events: events{
					warning("InvalidSelector", invalid.Target.Selector.Message),
					warning("FailedComputeMetricsReplicas", invalid.Target.Selector.Message),
				},
				Counts: true, CurrentReplicas: 3, Error: invalid.Target.Selector.Message,
			},
		},
		"ambiguous selector": {
			reason: "two autoscalers", observation: ambiguous,
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "AmbiguousSelector", ambiguous.Target.Selector.Message)},
				Events: events{
					warning("AmbiguousSelector", ambiguous.Target.Selector.Message),
					warning("FailedComputeMetricsReplicas", ambiguous.Target.Selector.Message),
				},
				Counts: true, CurrentReplicas: 3, Error: ambiguous.Target.Selector.Message,
			},
		},
		"all metrics fail": {
			reason: "an event for each, the first one in the condition", change: twice, observation: see(3, broken(), broken()),
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "FailedGetExternalMetric",
					"the HPA was unable to compute the replica count: "+down)},
				Events: events{
					warning("FailedGetExternalMetric", down), warning("FailedGetExternalMetric", down),
					warning("FailedComputeMetricsReplicas", "invalid metrics (2 invalid out of 2), first error is: "+downError),
				},
				Counts: true, CurrentReplicas: 3, ShowMetrics: true,
				Error: "invalid metrics (2 invalid out of 2), first error is: " + downError,
			},
		},
		"no metrics": {
			reason: "cannot be stored; reported all the same", observation: see(3),
			change: func(p *horizontal.Policy) { p.Metrics = nil },
			truth: statusreport.Report{
				Conditions: conditions{got(), set("ScalingActive", no, "InvalidMetricSourceType",
					"the HPA was unable to compute the replica count: the object names no metric")},
				Events: events{warning("FailedComputeMetricsReplicas", "invalid metrics: the object names none")},
				Counts: true, CurrentReplicas: 3, ShowMetrics: true, Error: "invalid metrics: the object names none",
			},
		},
		"one metric fails, the other wants more": {
			reason: "the error is reported and the count rises", change: twice, observation: see(3, broken(), length(5)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("5"), set("ScalingActive", yes, "ValidMetricFound",
					"the HPA was able to successfully calculate a replica count from external metric queue(nil), but not from "+
						"external metric queue(nil)"),
					inRange(), notZero()},
				Events: events{
					warning("FailedGetExternalMetric", down),
					rescaled("New size: 5; reason: external metric queue(nil) above target"),
				},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(5), ShowMetrics: true, Rescaled: true,
				Reason: "external metric queue(nil) above target",
				Error:  "invalid metrics (1 invalid out of 2), first error is: " + downError,
			},
			upstream: &statusreport.Report{
				Conditions: conditions{wrote("5"), valid(), inRange(), notZero()},
				Events: events{
					warning("FailedGetExternalMetric", down),
					rescaled("New size: 5; reason: external metric queue(nil) above target"),
				},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(5), ShowMetrics: true, Rescaled: true,
				Reason: "external metric queue(nil) above target",
				Error:  "invalid metrics (1 invalid out of 2), first error is: " + downError,
			},
		},
		"nothing to do": {
			reason: "the size matches", observation: see(3, length(3)),
			truth: statusreport.Report{
				Conditions: conditions{ready(), valid(), inRange()},
				Counts:     true, CurrentReplicas: 3, DesiredReplicas: n(3), ShowMetrics: true,
			},
		},
		"at max": {
			reason:      "the size does not match, whatever upstream says; no reason, as nothing changes",
			observation: see(10, length(20)),
			truth: statusreport.Report{
				Conditions: conditions{got(), valid(),
					set("ScalingLimited", yes, "TooManyReplicas", "the desired replica count is more than the maximum replica count")},
				Counts: true, CurrentReplicas: 10, DesiredReplicas: n(10), ShowMetrics: true,
			},
			upstream: &statusreport.Report{
				Conditions: conditions{ready(), valid(),
					set("ScalingLimited", yes, "TooManyReplicas", "the desired replica count is more than the maximum replica count")},
				Counts: true, CurrentReplicas: 10, DesiredReplicas: n(10), ShowMetrics: true,
			},
		},
		"up, limited": {
			reason: "the metric's name, not the limit, is the reason", observation: see(3, length(9)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("6"), valid(),
					set("ScalingLimited", yes, "ScaleUpLimit",
						"the desired replica count is increasing faster than the maximum scale rate"), notZero()},
				Events: events{rescaled("New size: 6; reason: external metric queue(nil) above target")},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(6), ShowMetrics: true, Rescaled: true,
				Reason: "external metric queue(nil) above target",
			},
		},
		"up by an Object metric": {
			reason: "upstream calls it external", change: object, observation: see(3, length(5)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("5"), set("ScalingActive", yes, "ValidMetricFound",
					"the HPA was able to successfully calculate a replica count from Service metric queue"), inRange(), notZero()},
				Events: events{rescaled("New size: 5; reason: Service metric queue above target")},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(5), ShowMetrics: true, Rescaled: true,
				Reason: "Service metric queue above target",
			},
			upstream: &statusreport.Report{
				Conditions: conditions{wrote("5"), valid(), inRange(), notZero()},
				Events:     events{rescaled("New size: 5; reason: external metric queue(nil) above target")},
				Counts:     true, CurrentReplicas: 3, DesiredReplicas: n(5), ShowMetrics: true, Rescaled: true,
				Reason: "external metric queue(nil) above target",
			},
		},
		"down": {
			reason: "after the window", state: remembering(past{time.Hour, 5}), observation: see(5, length(2)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("2"), valid(), inRange(), notZero()},
				Events:     events{rescaled("New size: 2; reason: All metrics below target")},
				Counts:     true, CurrentReplicas: 5, DesiredReplicas: n(2), ShowMetrics: true, Rescaled: true,
				Reason: "All metrics below target",
			},
		},
		"down, held": {
			reason: "within the window", state: remembering(past{time.Minute, 5}), observation: see(5, length(2)),
			truth: statusreport.Report{
				Conditions: conditions{set("AbleToScale", yes, "ScaleDownStabilized",
					"recent recommendations were higher than current one, applying the highest recent recommendation"), valid(),
					inRange()},
				Counts: true, CurrentReplicas: 5, DesiredReplicas: n(5), ShowMetrics: true,
			},
		},
		"up, held": {
			reason: "only with behavior", state: remembering(past{time.Second, 3}), observation: see(3, length(5)),
			change: func(p *horizontal.Policy) {
				p.Behavior = defaults()
				p.Behavior.Up.Stabilization = time.Minute
			},
			truth: statusreport.Report{
				Conditions: conditions{set("AbleToScale", yes, "ScaleUpStabilized",
					"recent recommendations were lower than current one, applying the lowest recent recommendation"), valid(),
					inRange()},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(3), ShowMetrics: true,
			},
		},
		"down, too fast": {
			reason: "a rate policy", state: remembering(past{time.Hour, 5}), observation: see(5, length(2)),
			change: func(p *horizontal.Policy) {
				p.Behavior = defaults()
				p.Behavior.Down = behavior.Rules{Policies: []behavior.RatePolicy{pods(1, time.Minute)}}
			},
			truth: statusreport.Report{
				Conditions: conditions{wrote("4"), valid(),
					set("ScalingLimited", yes, "ScaleDownLimit",
						"the desired replica count is decreasing faster than the maximum scale rate"), notZero()},
				Events: events{rescaled("New size: 4; reason: All metrics below target")},
				Counts: true, CurrentReplicas: 5, DesiredReplicas: n(4), ShowMetrics: true, Rescaled: true,
				Reason: "All metrics below target",
			},
		},
		"down to min": {
			reason: "the proposal is 0, min is 1", state: remembering(past{time.Hour, 5}), observation: see(5, length(0)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("1"), valid(),
					set("ScalingLimited", yes, "TooFewReplicas", "the desired replica count is less than the minimum replica count"),
					notZero()},
				Events: events{rescaled("New size: 1; reason: All metrics below target")},
				Counts: true, CurrentReplicas: 5, DesiredReplicas: n(1), ShowMetrics: true, Rescaled: true,
				Reason: "All metrics below target",
			},
		},
		"down to zero": {
			reason: "the condition that lets it come back", state: remembering(past{time.Hour, 5}),
			observation: see(5, length(0)),
			change:      func(p *horizontal.Policy) { p.MinReplicas = 0 },
			truth: statusreport.Report{
				Conditions: conditions{wrote("0"), valid(), inRange(),
					set("ScaledToZero", yes, "ScaledToZero", "the HPA controller scaled the workload to zero")},
				Events: events{rescaled("New size: 0; reason: All metrics below target")},
				Counts: true, CurrentReplicas: 5, DesiredReplicas: n(0), ShowMetrics: true, Rescaled: true,
				Reason: "All metrics below target",
			},
		},
		"zero to a raised min": {
			reason: "the metric wants nothing; min does", observation: scaledToZero(see(0, length(0))),
			change: func(p *horizontal.Policy) { p.MinReplicas, p.Behavior = 2, defaults() },
			truth: statusreport.Report{
				Conditions: conditions{wrote("2"), valid(), inRange(), notZero()},
				Events:     events{rescaled("New size: 2; reason: Current number of replicas below Spec.MinReplicas")},
				Counts:     true, DesiredReplicas: n(2), ShowMetrics: true, Rescaled: true,
				Reason: "Current number of replicas below Spec.MinReplicas",
			},
		},
		"write failed": {
			reason: "status keeps its desired count", observation: see(3, length(5)), outcome: conflict,
			truth: statusreport.Report{
				Conditions: conditions{set("AbleToScale", no, "FailedUpdateScale",
					"the HPA controller was unable to update the target scale: the object has been modified"), valid(), inRange()},
				Events: events{warning("FailedRescale",
					"New size: 5; reason: external metric queue(nil) above target; error: the object has been modified")},
				Counts: true, CurrentReplicas: 3, ShowMetrics: true,
				Reason: "external metric queue(nil) above target", Error: "failed to rescale: the object has been modified",
			},
			upstream: &statusreport.Report{
				Conditions: conditions{moved(set("AbleToScale", no, "FailedUpdateScale",
					"the HPA controller was unable to update the target scale: the object has been modified")), valid(), inRange()},
				Events: events{warning("FailedRescale",
					"New size: 5; reason: external metric queue(nil) above target; error: the object has been modified")},
				Counts: true, CurrentReplicas: 3, ShowMetrics: true,
				Reason: "external metric queue(nil) above target", Error: "failed to rescale: the object has been modified",
			},
		},
		"above max": {
			reason: "upstream empties the metrics and leaves old conditions", observation: see(12, length(5)),
			truth: statusreport.Report{
				Conditions: conditions{wrote("10"), valid(),
					set("ScalingLimited", yes, "TooManyReplicas", "the desired replica count is more than the maximum replica count"),
					notZero()},
				Events: events{rescaled("New size: 10; reason: Current number of replicas above Spec.MaxReplicas")},
				Counts: true, CurrentReplicas: 12, DesiredReplicas: n(10), ShowMetrics: true, Rescaled: true,
				Reason: "Current number of replicas above Spec.MaxReplicas",
			},
			upstream: &statusreport.Report{
				Conditions: conditions{wrote("10"), notZero()},
				Events:     events{rescaled("New size: 10; reason: Current number of replicas above Spec.MaxReplicas")},
				Counts:     true, CurrentReplicas: 12, DesiredReplicas: n(10), Rescaled: true,
				Reason: "Current number of replicas above Spec.MaxReplicas",
			},
		},
		"below min, metrics down": {
			reason: "the condition says that the metric fails, and the count is corrected", observation: see(3, broken()),
			change: func(p *horizontal.Policy) { p.MinReplicas = 4 },
			truth: statusreport.Report{
				Conditions: conditions{wrote("4"), set("ScalingActive", no, "FailedGetExternalMetric",
					"the HPA was unable to compute the replica count: "+down),
					set("ScalingLimited", yes, "TooFewReplicas", "the desired replica count is less than the minimum replica count"),
					notZero()},
				Events: events{
					warning("FailedGetExternalMetric", down),
					rescaled("New size: 4; reason: Current number of replicas below Spec.MinReplicas"),
				},
				Counts: true, CurrentReplicas: 3, DesiredReplicas: n(4), ShowMetrics: true, Rescaled: true,
				Reason: "Current number of replicas below Spec.MinReplicas",
			},
			upstream: &statusreport.Report{
				Conditions: conditions{wrote("4"), notZero()},
				Events:     events{rescaled("New size: 4; reason: Current number of replicas below Spec.MinReplicas")},
				Counts:     true, CurrentReplicas: 3, DesiredReplicas: n(4), Rescaled: true,
				Reason: "Current number of replicas below Spec.MinReplicas",
			},
		},
		"above max, invalid selector": {
			reason: "the count is corrected and the selector's defect shows", observation: invalidOut,
			truth: statusreport.Report{
				Conditions: conditions{wrote("10"), set("ScalingActive", no, "InvalidSelector", invalid.Target.Selector.Message),
					set("ScalingLimited", yes, "TooManyReplicas", "the desired replica count is more than the maximum replica count"),
					notZero()},
				Events: events{rescaled("New size: 10; reason: Current number of replicas above Spec.MaxReplicas")},
				Counts: true, CurrentReplicas: 20, DesiredReplicas: n(10), Rescaled: true,
				Reason: "Current number of replicas above Spec.MaxReplicas",
			},
			upstream: &statusreport.Report{
				Conditions: conditions{wrote("10"), notZero()},
				Events:     events{rescaled("New size: 10; reason: Current number of replicas above Spec.MaxReplicas")},
				Counts:     true, CurrentReplicas: 20, DesiredReplicas: n(10), Rescaled: true,
				Reason: "Current number of replicas above Spec.MaxReplicas",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 10)
			if tt.change != nil {
				tt.change(&p)
			}
			report := func(set divergence.Set) statusreport.Report {
				p.Divergences = set
				d, _ := horizontal.Decide(noon, &p, tt.state.Clone(), &tt.observation)
				return statusreport.Of(&d, tt.outcome)
			}
			if diff := cmp.Diff(tt.truth, report(divergence.Default)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			want := tt.truth
			if tt.upstream != nil {
				want = *tt.upstream
			}
			if diff := cmp.Diff(want, report(divergence.None)); diff != "" {
				t.Errorf("as upstream: %s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// moved returns a condition with a new transition time by upstream's rule.
func moved(c condition.Condition) condition.Condition {
	c.Transitioned = true
	return c
}

// TestHistoryReasonOfUpstream: if upstream scales up to an old proposal, the reason follows from the new one and does
// not explain it.
func TestHistoryReasonOfUpstream(t *testing.T) {
	p, o := policy(1, 10), see(3, length(3))
	p.Divergences = divergence.None
	d, _ := horizontal.Decide(noon, &p, remembering(past{time.Minute, 5}), &o)
	r := statusreport.Of(&d, horizontal.Outcome{})
	want := []statusreport.Event{rescaled("New size: 5; reason: ")}
	if diff := cmp.Diff(want, r.Events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		horizontal.BranchNoScale.String():     "NoScale",
		horizontal.BranchDisabled.String():    "Disabled",
		horizontal.BranchAboveMax.String():    "AboveMax",
		horizontal.BranchBelowMin.String():    "BelowMin",
		horizontal.BranchFailed.String():      "Failed",
		horizontal.BranchMetrics.String():     "Metrics",
		behavior.ReadyForNewScale.String():    "ReadyForNewScale",
		behavior.ScaleUpStabilized.String():   "ScaleUpStabilized",
		behavior.ScaleDownStabilized.String(): "ScaleDownStabilized",
		behavior.DesiredWithinRange.String():  "DesiredWithinRange",
		behavior.TooFewReplicas.String():      "TooFewReplicas",
		behavior.TooManyReplicas.String():     "TooManyReplicas",
		behavior.ScaleUpLimit.String():        "ScaleUpLimit",
		behavior.ScaleDownLimit.String():      "ScaleDownLimit",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
