package horizontal

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func inShadow(c *Config) { c.HPAs = takeover.Shadow }

// upstreamDecides is a decision of the other controller, with its scale write.
func (w *world) upstreamDecides(name string, desired int32) {
	current := w.replicas(name)
	if desired != current {
		w.setReplicas(name, desired)
	}
	w.writeStatus(name, upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
		s.CurrentReplicas, s.DesiredReplicas = current, desired
		s.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: "cpu", Current: autoscalingv2.MetricValueStatus{
					AverageValue: resource.NewMilliQuantity(time.Now().UnixMilli(), resource.DecimalSI),
				},
			}}}
		s.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"},
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"},
			{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionFalse, Reason: "DesiredWithinRange"},
		}
		if desired != current {
			now := metav1.NewTime(time.Now().Truncate(time.Second))
			s.LastScaleTime = &now
		}
	})
}

func (w *world) compared(result string) float64 {
	return w.metric("plimsoll_shadow_comparisons_total", result)
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
				w.addHPA(w.web("web", 2))
				w.upstreamDecides("web", 2)
				w.start(inShadow)
				w.pass(2 * time.Second)
				agreed := w.compared("agree")
				w.set(func() { w.usage, w.logs = test.usage, nil })
				w.client.ClearActions()
				w.upstreamDecides("web", test.desired)
				w.pass(time.Second)
				got := w.compared(test.result)
				if test.result == "agree" {
					got -= agreed
				}
				if got != 1 {
					t.Errorf("%v comparisons end in %s, want 1; log %q", got, test.result, w.logs)
				}
				if line := strings.TrimSuffix(test.line, ` "logger"`); !strings.Contains(strings.Join(w.logs, "\n"),
					line) {
					t.Errorf("%s is not in the log %q", line, w.logs)
				}
				w.pass(10 * period)
				for _, action := range w.client.Actions() {
					if verb := action.GetVerb(); verb != "list" && verb != "watch" && verb != "get" {
						t.Errorf("shadow mode did %s %s", verb, action.GetResource().Resource)
					}
				}
				if w.hasEvent("") {
					t.Errorf("events %q", w.events)
				}
				if writes := w.scaleWrites(); len(writes) != 0 {
					t.Errorf("scale writes %q", writes)
				}
			})
		})
	}
}

// What the other controller does not see within a period, it does not see.
func TestShadowWaitsAPeriodBeforeItDiffers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.upstreamDecides("web", 2)
		w.start(inShadow)
		w.set(func() { w.usage = 200 })
		w.pass(period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences before the other one's turn", n)
		}
		w.pass(2 * period)
		if n := w.compared("replicas"); n == 0 {
			t.Error("no difference, yet the other one kept 2 for two periods")
		}
	})
}

// The rate budget follows the changes that were really made, by either controller.
func TestShadowHistoryFollowsWhatHappened(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 2)
		zero, maxChange := int32(0), autoscalingv2.MaxChangePolicySelect
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: &zero, SelectPolicy: &maxChange,
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2,
				PeriodSeconds: 600}},
		}}
		w.addHPA(hpa)
		w.upstreamDecides("web", 2)
		w.start(inShadow)
		w.pass(2 * time.Second)
		w.set(func() { w.usage = 400 })
		w.upstreamDecides("web", 4)
		w.pass(time.Second)
		if n := w.compared("replicas"); n != 0 {
			t.Fatalf("%v differences on 2→4, which the policy permits; log %q", n, w.logs)
		}
		// The two of this period are used up: both keep 4.
		w.upstreamDecides("web", 4)
		w.pass(3 * period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences: the shadow did not count the other one's change; log %q", n, w.logs)
		}
	})
}

// Own looks between two of the other one's turns do not hold a count in the
// window that the other one has let go.
func TestShadowWindowHasTheOtherOnesTurns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 4)
		window := int32(14)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: &window,
		}}
		w.addHPA(hpa)
		w.upstreamDecides("web", 4)
		w.start(inShadow)
		for range 4 {
			w.upstreamDecides("web", 4)
			w.pass(period)
		}
		w.set(func() { w.usage = 50 })
		w.upstreamDecides("web", 2)
		w.pass(time.Second)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences on 4→2; log %q", n, w.logs)
		}
	})
}

// A status that says why there is no decision is not one for the count that it
// still shows.
func TestShadowTakesAFailureForKeeping(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.writeStatus("web", upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
			s.CurrentReplicas, s.DesiredReplicas = 2, 0
			s.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric"},
			}
		})
		w.start(inShadow)
		w.pass(3 * period)
		if n := w.compared("replicas"); n != 0 {
			t.Errorf("%v differences, but both keep 2; log %q", n, w.logs)
		}
	})
}
