package takeover_test

import (
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

func (w *world) compared(result string) float64 {
	return w.Metric("plimsoll_shadow_comparisons_total", result)
}

func TestShadowComparesAndWritesNothing(t *testing.T) {
	tests := map[string]struct {
		usage   int64
		desired int32
		result  string
		line    string
	}{
		"both keep":       {usage: 100, desired: 2, result: "agree"},
		"both scale":      {usage: 200, desired: 4, result: "agree", line: `"shadow agrees" "logger"`},
		"other count":     {usage: 200, desired: 3, result: "replicas", line: `"desired"=4 "actual"=3`},
		"it does not see": {usage: 200, desired: 2, result: "replicas", line: `"desired"=4 "actual"=2`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.AddHPA(w.Web("web", 2))
				w.UpstreamDecides("web", 2)
				w.Start(horizontaltest.InShadow)
				w.Pass(2 * time.Second)
				agreed := w.compared("agree")
				w.Set(func() { w.Usage, w.Logs = test.usage, nil })
				w.Client.ClearActions()
				w.UpstreamDecides("web", test.desired)
				w.Pass(time.Second)
				got := w.compared(test.result)
				if test.result == "agree" {
					got -= agreed
				}
				if got != 1 {
					t.Errorf("%v comparisons end in %s, want 1; log %q", got, test.result, w.Logs)
				}
				if line := strings.TrimSuffix(test.line, ` "logger"`); !strings.Contains(strings.Join(w.Logs, "\n"),
					line) {
					t.Errorf("%s is not in the log %q", line, w.Logs)
				}
				w.Pass(10 * horizontaltest.Period)
				for _, action := range w.Client.Actions() {
					if verb := action.GetVerb(); verb != "list" && verb != "watch" && verb != "get" {
						t.Errorf("shadow mode did %s %s", verb, action.GetResource().Resource)
					}
				}
				if w.HasEvent("") {
					t.Errorf("events %q", w.Events)
				}
				if writes := w.ScaleWrites(); len(writes) != 0 {
					t.Errorf("scale writes %q", writes)
				}
			})
		})
	}
}

// Differences count only after the other controller had a period to decide.
func TestShadowWaitsAPeriodBeforeItDiffers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.UpstreamDecides("web", 2)
		w.Start(horizontaltest.InShadow)
		w.Set(func() { w.Usage = 200 })
		w.Pass(horizontaltest.Period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences before the other one's turn", n)
		}
		w.Pass(2 * horizontaltest.Period)
		if n := w.compared("replicas"); n == 0 {
			t.Error("no difference, yet the other one kept 2 for two periods")
		}
	})
}

// The rate budget counts the changes that either controller really made.
func TestShadowHistoryFollowsWhatHappened(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 2)
		zero, maxChange := int32(0), autoscalingv2.MaxChangePolicySelect
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: &zero, SelectPolicy: &maxChange,
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2,
				PeriodSeconds: 600}},
		}}
		w.AddHPA(hpa)
		w.UpstreamDecides("web", 2)
		w.Start(horizontaltest.InShadow)
		w.Pass(2 * time.Second)
		w.Set(func() { w.Usage = 400 })
		w.UpstreamDecides("web", 4)
		w.Pass(time.Second)
		if n := w.compared("replicas"); n != 0 {
			t.Fatalf("%v differences on 2→4, which the policy permits; log %q", n, w.Logs)
		}
		// The two of this period are used up: both keep 4.
		w.UpstreamDecides("web", 4)
		w.Pass(3 * horizontaltest.Period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences: the shadow did not count the other one's change; log %q", n, w.Logs)
		}
	})
}

// Decisions between two of the other one's do not keep a count in the window longer than the other one does.
func TestShadowWindowHasTheOtherOnesTurns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 4)
		window := int32(14)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: &window,
		}}
		w.AddHPA(hpa)
		w.UpstreamDecides("web", 4)
		w.Start(horizontaltest.InShadow)
		for range 4 {
			w.UpstreamDecides("web", 4)
			w.Pass(horizontaltest.Period)
		}
		w.Set(func() { w.Usage = 50 })
		w.UpstreamDecides("web", 2)
		w.Pass(time.Second)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences on 4→2; log %q", n, w.Logs)
		}
	})
}

// A status with a failure does not confirm the desired count that it still has.
func TestShadowTakesAFailureForKeeping(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.WriteStatus("web", horizontaltest.Upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
			s.CurrentReplicas, s.DesiredReplicas = 2, 0
			s.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric"},
			}
		})
		w.Start(horizontaltest.InShadow)
		w.Pass(3 * horizontaltest.Period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences, but both keep 2; log %q", n, w.Logs)
		}
	})
}
