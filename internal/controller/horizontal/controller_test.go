package horizontal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

func TestNewObjectIsDecidedAtOnceThenEachPeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		// 200m of 200m on two pods is twice the target of 50 %.
		w.usage = 200
		hpa := w.web("web", 2)
		w.pass(time.Second)
		w.addHPA(hpa)
		w.pass(10 * time.Millisecond)
		w.wantReplicas("web", 4, "a new object does not wait for a period")
		if got := w.condition("web", autoscalingv2.AbleToScale); got != "True SucceededRescale" {
			t.Errorf("AbleToScale is %s", got)
		}
		hpa = w.hpa("web")
		if hpa.Status.ObservedGeneration == nil || *hpa.Status.ObservedGeneration != 1 ||
			hpa.Status.LastScaleTime == nil {
			t.Errorf("status %+v lacks the generation or the time", hpa.Status)
		}
		if !w.hasEvent("web Normal SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of " +
			"request) above target") {
			t.Errorf("events %q", w.events)
		}
		if got := w.metric("horizontal_pod_autoscaler_controller_reconciliations_total", "scale_up", "none"); got != 1 {
			t.Errorf("%v reconciliations scaled up, want 1", got)
		}
		w.pass(20 * period)
		// Two steps of at least half a period lead into the phase.
		if n := w.decisions(); n < 21 || n > 22 {
			t.Errorf("%d decisions in 20 periods and one at once", n)
		}
		for i := range w.asked[1:] {
			if gap := w.asked[i+1].Sub(w.asked[i]); gap > period || gap < period/2 {
				t.Errorf("decision %d came %s after the one before", i+1, gap)
			}
		}
	})
}

func TestSpecEditIsDecidedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 4)
		w.start()
		w.addHPA(hpa)
		w.pass(time.Second)
		before := w.decisions()
		w.edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 3 })
		w.pass(10 * time.Millisecond)
		if w.decisions() == before {
			t.Error("the edit waited for the period")
		}
		w.wantReplicas("web", 3, "max was lowered")
	})
}

func TestOwnStatusWriteIsNoReasonToDecide(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.addHPA(w.web("web", 2))
		w.pass(5 * time.Second)
		if n := w.decisions(); n != 1 {
			t.Errorf("%d decisions, want 1", n)
		}
	})
}

func TestScaleConflict(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(w *world)
		want      int32
		why       string
	}{
		"the target changed in other ways": {
			meanwhile: func(w *world) { w.store(deploymentResource, w.deployment("web")) },
			want:      4, why: "the same write is tried again on the newer target",
		},
		"another writer scaled": {
			meanwhile: func(w *world) { w.setReplicas("web", 5) },
			want:      10, why: "their 5 are not overwritten by 4, but are where the next decision starts",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				once := false
				w.beforeScale = func() error {
					if !once {
						once = true
						test.meanwhile(w)
					}
					return nil
				}
				w.usage = 200
				w.addHPA(w.web("web", 2))
				for _, name := range []string{"web-a", "web-b", "web-c"} {
					w.add(podResource, pod(name, map[string]string{"app": "web"}))
				}
				w.start()
				w.pass(time.Second)
				w.wantReplicas("web", test.want, test.why)
				if w.hasEvent("FailedRescale") {
					t.Errorf("a conflict that healed is no event: %q", w.events)
				}
			})
		})
	}
}

func TestScaleWriteFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.usage, w.beforeScale = 200, func() error { return errors.New("no such luck") }
		w.addHPA(w.web("web", 2))
		w.start()
		w.wantReplicas("web", 2, "the write failed")
		if got := w.condition("web", autoscalingv2.AbleToScale); got != "False FailedUpdateScale" {
			t.Errorf("AbleToScale is %s", got)
		}
		if !w.hasEvent("Warning FailedRescale: New size: 4; reason: cpu resource utilization (percentage of " +
			"request) above target; error: no such luck") {
			t.Errorf("events %q", w.events)
		}
		w.set(func() { w.beforeScale = nil })
		w.pass(period)
		w.wantReplicas("web", 4, "the next write works")
	})
}

func TestStatusWriteFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.beforeStatus = func() error { return errors.New("no such luck") }
		w.addHPA(w.web("web", 2))
		w.start()
		if !w.hasEvent("Warning FailedUpdateStatus: no such luck") {
			t.Errorf("events %q", w.events)
		}
		w.set(func() { w.beforeStatus = nil })
		w.pass(period)
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Errorf("ScalingActive is %s", got)
		}
	})
}

func TestEditBetweenDecisionAndStatusKeepsBoth(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		once := false
		w.beforeStatus = func() error {
			if !once {
				once = true
				w.edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 7 })
			}
			return nil
		}
		w.usage = 200
		w.addHPA(w.web("web", 2))
		w.start()
		w.pass(time.Second)
		hpa := w.hpa("web")
		if hpa.Spec.MaxReplicas != 7 || hpa.Status.LastScaleTime == nil {
			t.Errorf("max %d, last scale time %v: the edit or the scale is lost", hpa.Spec.MaxReplicas,
				hpa.Status.LastScaleTime)
		}
		if w.hasEvent("FailedUpdateStatus") {
			t.Errorf("events %q", w.events)
		}
	})
}

func TestEditDuringDecisionIsDecidedOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.external = func(context.Context) (int64, error) {
			time.Sleep(2 * time.Second) //nolint:forbidigo // virtual time: a slow adapter
			return 1000, nil
		}
		w.addHPA(externally(w.web("web", 2)))
		w.start()
		w.pass(time.Second)
		w.edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 3 })
		w.pass(4 * time.Second)
		w.wantReplicas("web", 3, "not 4, which the old spec permitted")
		if writes := w.scaleWrites(); len(writes) != 1 {
			t.Errorf("scale writes %q, want one", writes)
		}
	})
}

func TestHungAdapterDelaysOnlyItsObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.external = func(ctx context.Context) (int64, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return 0, errors.New("hung up")
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.addHPA(externally(w.web(name, 2)))
		}
		w.usage = 200
		w.addHPA(w.web("web", 2))
		w.start() // with two workers
		w.wantReplicas("web", 4, "five objects hang, this one does not")
		before := w.decisions()
		w.pass(4 * period)
		if n := w.decisions() - before; n < 4 {
			t.Errorf("%d decisions in four periods", n)
		}
	})
}

func TestFailedMetricHeals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(externally(w.web("web", 2)))
		w.start()
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "False FailedGetExternalMetric" {
			t.Errorf("ScalingActive is %s", got)
		}
		if !w.hasEvent("Warning FailedComputeMetricsReplicas") {
			t.Errorf("events %q", w.events)
		}
		w.set(func() { w.external = func(context.Context) (int64, error) { return 300, nil } })
		w.pass(period)
		w.wantReplicas("web", 3, "the metric is back")
	})
}

func TestTargetGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 2)
		hpa.Spec.ScaleTargetRef.Name = "other"
		w.addHPA(hpa)
		w.start()
		if got := w.condition("web", autoscalingv2.AbleToScale); got != "False FailedGetScale" {
			t.Errorf("AbleToScale is %s", got)
		}
		if !w.hasEvent(`Warning FailedGetScale: deployments.apps "other" not found`) {
			t.Errorf("events %q", w.events)
		}
	})
}

func TestBadReferenceCountsAsSpecError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 2)
		hpa.Spec.ScaleTargetRef.APIVersion = "a/b/c"
		w.addHPA(hpa)
		w.start()
		if !w.hasEvent("Warning FailedGetScale: unexpected GroupVersion string: a/b/c") {
			t.Errorf("events %q", w.events)
		}
		if got := w.metric("horizontal_pod_autoscaler_controller_reconciliations_total", "none", "spec"); got != 1 {
			t.Errorf("%v spec errors", got)
		}
	})
}

// Recommendations within the window keep the count up, so what a history knows
// shows in whether the target is scaled down.
func TestHistory(t *testing.T) {
	lowAfterHigh := func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
		w.addHPA(hpa)
		w.pass(period)
		w.set(func() { w.usage = 10 })
	}
	t.Run("a restart does not scale down for a window", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.usage = 10
			w.addHPA(w.web("web", 4))
			w.start()
			w.pass(4 * time.Minute)
			w.wantReplicas("web", 4, "the count at the start is remembered for five minutes")
			w.pass(2 * time.Minute)
			w.wantReplicas("web", 1, "the window is over")
		})
	})
	t.Run("another object of the same name starts anew", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			hpa := w.web("web", 4)
			w.start()
			lowAfterHigh(w, hpa.DeepCopy())
			w.pass(4 * time.Minute)
			w.deleteHPA("web")
			hpa.UID = "another"
			w.addHPA(hpa)
			w.pass(3 * time.Minute)
			w.wantReplicas("web", 4, "the new object's window began when it was made")
			w.pass(3 * time.Minute)
			w.wantReplicas("web", 1, "and is over")
		})
	})
	t.Run("with history by name the new one inherits, as upstream", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			hpa := w.web("web", 4)
			w.start(func(c *Config) { c.Options.Divergences = divergence.None })
			lowAfterHigh(w, hpa.DeepCopy())
			w.pass(4 * time.Minute)
			w.deleteHPA("web")
			hpa.UID = "another"
			w.addHPA(hpa)
			w.pass(2 * time.Minute)
			w.wantReplicas("web", 1, "the old object's window is over")
		})
	})
}

func TestDeletionDropsEverything(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web, api := w.web("web", 2), w.web("api", 2)
		w.start()
		w.addHPA(web)
		w.addHPA(api)
		w.pass(time.Second)
		const desired = "horizontal_pod_autoscaler_controller_desired_replicas"
		if n := w.series(desired); n != 2 {
			t.Fatalf("%d series of desired replicas, want 2", n)
		}
		w.deleteHPA("web")
		w.pass(time.Second)
		if n := w.series(desired); n != 1 {
			t.Errorf("%d series of desired replicas, want 1", n)
		}
		if n := w.metric("horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers"); n != 1 {
			t.Errorf("%v objects, want 1", n)
		}
		before := w.decisions()
		w.pass(10 * period)
		if n := w.decisions() - before; n > 11 {
			t.Errorf("%d decisions in ten periods on one object", n)
		}
	})
}

func TestTwoObjectsOnTheSamePods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.usage = 200
		first := w.web("web", 2)
		second := first.DeepCopy()
		second.Name, second.UID = "twin", "hpa-twin"
		w.addHPA(first)
		w.addHPA(second)
		w.start()
		w.pass(period)
		for _, name := range []string{"web", "twin"} {
			if got := w.condition(name, autoscalingv2.ScalingActive); got != "False AmbiguousSelector" {
				t.Errorf("%s: ScalingActive is %s", name, got)
			}
		}
		if !w.hasEvent("Warning AmbiguousSelector: pods by selector app=web are controlled by more than one HPA " +
			"(e.g. [shop/twin shop/web])") {
			t.Errorf("events %q", w.events)
		}
		writes := len(w.scaleWrites())
		w.pass(10 * period)
		if n := len(w.scaleWrites()); n != writes {
			t.Errorf("%d scale writes while the selector is ambiguous", n-writes)
		}
		w.deleteHPA("twin")
		w.pass(period)
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Errorf("alone again, but ScalingActive is %s", got)
		}
	})
}

func TestStaleCacheDefersTheDecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hideStatus = true
		w.addHPA(w.web("web", 2))
		w.start()
		w.pass(3 * period)
		if n := w.decisions(); n != 1 {
			t.Errorf("%d decisions on a cache that lacks the own status write, want 1", n)
		}
		if got := w.metric("horizontal_pod_autoscaler_controller_stale_sync_skips_total", "autoscaling",
			"horizontalpodautoscalers"); got < 3 {
			t.Errorf("%v skips", got)
		}
		w.set(func() { w.hideStatus = false })
		seen := w.hidden[0].(*autoscalingv2.HorizontalPodAutoscaler)
		if err := w.client.Tracker().Update(hpaResource, runtime.Object(seen), "shop"); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Millisecond)
		if n := w.decisions(); n != 2 {
			t.Errorf("%d decisions, want the second as soon as the write is seen", n)
		}
	})
}

func TestPanicSparesTheOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.usage = 200
		w.beforeStatus = func() error {
			if w.hpa("bad").Status.CurrentReplicas == 0 {
				panic("a defect")
			}
			return nil
		}
		w.addHPA(w.web("bad", 2))
		w.start()
		w.pass(period)
		w.set(func() { w.beforeStatus = nil })
		w.addHPA(w.web("web", 2))
		w.pass(period)
		w.wantReplicas("web", 4, "the loop goes on")
		if got := w.metric("plimsoll_horizontal_panics_total"); got < 2 {
			t.Errorf("%v panics", got)
		}
		if !w.hasEvent("bad Warning InternalError") {
			t.Errorf("events %q", w.events)
		}
	})
}

func TestOneLogLineForAChangeOfScale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.usage = 200
		w.addHPA(w.web("web", 2))
		w.start()
		w.set(func() { w.usage = 100 })
		w.pass(5 * period)
		if len(w.logs) != 1 {
			t.Fatalf("lines %q, want one", w.logs)
		}
		for _, part := range []string{`"target"="Deployment/shop/web"`, `"current"=2`, `"desired"=4`,
			`"reason"="cpu resource`} {
			if !strings.Contains(w.logs[0], part) {
				t.Errorf("%s is not in %s", part, w.logs[0])
			}
		}
	})
}

func TestConflictOfStatusWithAnotherWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.beforeStatus = func() error {
			return apierrors.NewConflict(hpaResource.GroupResource(), "web", errors.New("always"))
		}
		w.addHPA(w.web("web", 2))
		w.start()
		if !w.hasEvent("FailedUpdateStatus") {
			t.Errorf("events %q", w.events)
		}
	})
}

// TestRestartKnowsTheLastScaling: a controller that has just started learns from
// status when the target was scaled. What was measured before lowers nothing.
func TestRestartKnowsTheLastScaling(t *testing.T) {
	for set, want := range map[divergence.Set]int32{divergence.Default: 4, divergence.None: 1} {
		inWorld(t, func(t *testing.T, w *world) {
			w.external = func(context.Context) (int64, error) { return 100, nil }
			w.measured = time.Now().Add(-20 * time.Second)
			hpa := externally(w.web("web", 4))
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
			}
			w.addHPA(hpa)
			w.writeStatus("web", FieldManager, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
				at := metav1.NewTime(time.Now().Add(-10 * time.Second))
				s.LastScaleTime = &at
			})
			w.start(func(cfg *Config) { cfg.Options.Divergences = set })
			w.wantReplicas("web", want, "divergences "+set.String())
			if set == divergence.None {
				return
			}
			w.set(func() { w.measured = time.Now() })
			w.pass(period)
			w.wantReplicas("web", 1, "the queue was measured anew")
		})
	}
}

// TestSwitchedOffDisturbsNoOther: an object whose target was put to 0 replicas by hand
// is no second one for the pods that its selector selects as well. It is as soon as
// its target has replicas.
func TestSwitchedOffDisturbsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		green := w.web("green", 2)
		blue, replicas := green.DeepCopy(), int32(0)
		blue.Name, blue.UID, blue.Spec.ScaleTargetRef.Name = "blue", "hpa-blue", "blue"
		deployment := w.deployment("green")
		deployment.Name, deployment.UID, deployment.Spec.Replicas = "blue", "deployment-blue", &replicas
		w.add(deploymentResource, deployment)
		w.addHPA(blue)
		w.start()
		w.addHPA(green)
		want := func(blue, green string) {
			t.Helper()
			w.pass(2 * period)
			if got := w.condition("blue", autoscalingv2.ScalingActive); got != blue {
				t.Errorf("blue: ScalingActive is %s, want %s", got, blue)
			}
			if got := w.condition("green", autoscalingv2.ScalingActive); got != green {
				t.Errorf("green: ScalingActive is %s, want %s", got, green)
			}
		}
		want("False ScalingDisabled", "True ValidMetricFound")
		w.setReplicas("blue", 1)
		want("False AmbiguousSelector", "False AmbiguousSelector")
		w.setReplicas("blue", 0)
		want("False ScalingDisabled", "True ValidMetricFound")
		w.set(func() { w.usage = 200 })
		w.pass(period)
		w.wantReplicas("green", 4, "no other writer scales these pods")
	})
}

// TestDeletedTargetGivesUpItsPods: whatever selects the same pods next is not stopped by an
// object whose target is gone.
func TestDeletedTargetGivesUpItsPods(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"by default":  {func(*Config) {}, "True ValidMetricFound"},
		"as upstream": {asUpstream, "False AmbiguousSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.addHPA(w.web("web", 2))
				w.start(tt.change)
				w.pass(period)
				if err := w.client.Tracker().Delete(deploymentResource, "shop", "web"); err != nil {
					t.Fatal(err)
				}
				w.pass(period)
				successor := w.web("successor", 2)
				d := w.deployment("successor")
				d.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
				w.store(deploymentResource, d)
				w.addHPA(successor)
				w.pass(3 * period)
				if got := w.condition("successor", autoscalingv2.ScalingActive); got != tt.want {
					t.Errorf("ScalingActive is %s, want %s", got, tt.want)
				}
			})
		})
	}
}
