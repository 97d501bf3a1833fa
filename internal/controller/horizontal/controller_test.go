package horizontal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

func TestNewObjectIsDecidedAtOnceThenEachPeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Start()
		// 200m of 200m on two pods is twice the target of 50 %.
		w.Usage = 200
		hpa := w.Web("web", 2)
		w.Pass(time.Second)
		w.AddHPA(hpa)
		w.Pass(10 * time.Millisecond)
		w.WantReplicas("web", 4, "a new object does not wait for a period")
		if got := w.Condition("web", autoscalingv2.AbleToScale); got != "True SucceededRescale" {
			t.Errorf("AbleToScale is %s", got)
		}
		hpa = w.HPA("web")
		if hpa.Status.ObservedGeneration == nil || *hpa.Status.ObservedGeneration != 1 ||
			hpa.Status.LastScaleTime == nil {
			t.Errorf("status %+v lacks the generation or the time", hpa.Status)
		}
		if !w.HasEvent("web Normal SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of " +
			"request) above target") {
			t.Errorf("events %q", w.Events)
		}
		if got := w.Metric("horizontal_pod_autoscaler_controller_reconciliations_total", "scale_up", "none"); got != 1 {
			t.Errorf("%v reconciliations scaled up, want 1", got)
		}
		w.Pass(20 * horizontaltest.Period)
		// Two steps of at least half a period lead into the phase.
		if n := w.Decisions(); n < 21 || n > 22 {
			t.Errorf("%d decisions in 20 periods and one at once", n)
		}
		for i := range w.Asked[1:] {
			if gap := w.Asked[i+1].Sub(w.Asked[i]); gap > horizontaltest.Period || gap < horizontaltest.Period/2 {
				t.Errorf("decision %d came %s after the one before", i+1, gap)
			}
		}
	})
}

func TestSpecEditIsDecidedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 4)
		w.Start()
		w.AddHPA(hpa)
		w.Pass(time.Second)
		before := w.Decisions()
		w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 3 })
		w.Pass(10 * time.Millisecond)
		if w.Decisions() == before {
			t.Error("the edit waited for the period")
		}
		w.WantReplicas("web", 3, "max was lowered")
	})
}

func TestOwnStatusWriteIsNoReasonToDecide(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Start()
		w.AddHPA(w.Web("web", 2))
		w.Pass(5 * time.Second)
		if n := w.Decisions(); n != 1 {
			t.Errorf("%d decisions, want 1", n)
		}
	})
}

func TestEditDuringDecisionIsDecidedOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ExternalValue = func(context.Context) (int64, error) {
			time.Sleep(2 * time.Second) //nolint:forbidigo // virtual time: a slow adapter
			return 1000, nil
		}
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.Start()
		w.Pass(time.Second)
		w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 3 })
		w.Pass(4 * time.Second)
		w.WantReplicas("web", 3, "not 4, which the old spec permitted")
		if writes := w.ScaleWrites(); len(writes) != 1 {
			t.Errorf("scale writes %q, want one", writes)
		}
	})
}

// Recommendations within the window keep the count up, so a scale-down shows whether there is a history.
func TestHistory(t *testing.T) {
	lowAfterHigh := func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
		w.AddHPA(hpa)
		w.Pass(horizontaltest.Period)
		w.Set(func() { w.Usage = 10 })
	}
	t.Run("a restart does not scale down for a window", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.Usage = 10
			w.AddHPA(w.Web("web", 4))
			w.Start()
			w.Pass(4 * time.Minute)
			w.WantReplicas("web", 4, "the count at the start is remembered for five minutes")
			w.Pass(2 * time.Minute)
			w.WantReplicas("web", 1, "the window is over")
		})
	})
	t.Run("another object of the same name starts anew", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			hpa := w.Web("web", 4)
			w.Start()
			lowAfterHigh(w, hpa.DeepCopy())
			w.Pass(4 * time.Minute)
			w.DeleteHPA("web")
			hpa.UID = "another"
			w.AddHPA(hpa)
			w.Pass(3 * time.Minute)
			w.WantReplicas("web", 4, "the new object's window began when it was made")
			w.Pass(3 * time.Minute)
			w.WantReplicas("web", 1, "and is over")
		})
	})
	t.Run("with history by name the new one inherits, as upstream", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			hpa := w.Web("web", 4)
			w.Start(func(c *controllerhorizontal.Config) { c.Options.Divergences = divergence.None })
			lowAfterHigh(w, hpa.DeepCopy())
			w.Pass(4 * time.Minute)
			w.DeleteHPA("web")
			hpa.UID = "another"
			w.AddHPA(hpa)
			w.Pass(2 * time.Minute)
			w.WantReplicas("web", 1, "the old object's window is over")
		})
	})
}

func TestDeletionDropsEverything(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web, api := w.Web("web", 2), w.Web("api", 2)
		w.Start()
		w.AddHPA(web)
		w.AddHPA(api)
		w.Pass(time.Second)
		const desired = "horizontal_pod_autoscaler_controller_desired_replicas"
		if n := w.Series(desired); n != 2 {
			t.Fatalf("%d series of desired replicas, want 2", n)
		}
		w.DeleteHPA("web")
		w.Pass(time.Second)
		if n := w.Series(desired); n != 1 {
			t.Errorf("%d series of desired replicas, want 1", n)
		}
		if n := w.Metric("horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers"); n != 1 {
			t.Errorf("%v objects, want 1", n)
		}
		before := w.Decisions()
		w.Pass(10 * horizontaltest.Period)
		if n := w.Decisions() - before; n > 11 {
			t.Errorf("%d decisions in ten periods on one object", n)
		}
	})
}

func TestTwoObjectsOnTheSamePods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage = 200
		first := w.Web("web", 2)
		second := first.DeepCopy()
		second.Name, second.UID = "twin", "hpa-twin"
		w.AddHPA(first)
		w.AddHPA(second)
		w.Start()
		w.Pass(horizontaltest.Period)
		for _, name := range []string{"web", "twin"} {
			if got := w.Condition(name, autoscalingv2.ScalingActive); got != "False AmbiguousSelector" {
				t.Errorf("%s: ScalingActive is %s", name, got)
			}
		}
		if !w.HasEvent("Warning AmbiguousSelector: pods by selector app=web are controlled by more than one HPA " +
			"(e.g. [shop/twin shop/web])") {
			t.Errorf("events %q", w.Events)
		}
		writes := len(w.ScaleWrites())
		w.Pass(10 * horizontaltest.Period)
		if n := len(w.ScaleWrites()); n != writes {
			t.Errorf("%d scale writes while the selector is ambiguous", n-writes)
		}
		w.DeleteHPA("twin")
		w.Pass(horizontaltest.Period)
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Errorf("alone again, but ScalingActive is %s", got)
		}
	})
}

func TestStaleCacheDefersTheDecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.HideStatus = true
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Pass(3 * horizontaltest.Period)
		if n := w.Decisions(); n != 1 {
			t.Errorf("%d decisions on a cache that lacks the own status write, want 1", n)
		}
		if got := w.Metric("horizontal_pod_autoscaler_controller_stale_sync_skips_total", "autoscaling",
			"horizontalpodautoscalers"); got < 3 {
			t.Errorf("%v skips", got)
		}
		w.Set(func() { w.HideStatus = false })
		seen := w.Hidden[0].(*autoscalingv2.HorizontalPodAutoscaler)
		if err := w.Client.Tracker().Update(horizontaltest.HPAResource, runtime.Object(seen), "shop"); err != nil {
			t.Fatal(err)
		}
		w.Pass(10 * time.Millisecond)
		if n := w.Decisions(); n != 2 {
			t.Errorf("%d decisions, want the second as soon as the write is seen", n)
		}
	})
}

func TestPanicSparesTheOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage = 200
		w.BeforeStatus = func() error {
			if w.HPA("bad").Status.CurrentReplicas == 0 {
				panic("a defect")
			}
			return nil
		}
		w.AddHPA(w.Web("bad", 2))
		w.Start()
		w.Pass(horizontaltest.Period)
		w.Set(func() { w.BeforeStatus = nil })
		w.AddHPA(w.Web("web", 2))
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "the loop goes on")
		if got := w.Metric("plimsoll_horizontal_panics_total"); got < 2 {
			t.Errorf("%v panics", got)
		}
		if !w.HasEvent("bad Warning InternalError") {
			t.Errorf("events %q", w.Events)
		}
	})
}

func TestOneLogLineForAChangeOfScale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage = 200
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Set(func() { w.Usage = 100 })
		w.Pass(5 * horizontaltest.Period)
		if len(w.Logs) != 1 {
			t.Fatalf("lines %q, want one", w.Logs)
		}
		for _, part := range []string{`"target"="Deployment/shop/web"`, `"current"=2`, `"desired"=4`,
			`"reason"="cpu resource`} {
			if !strings.Contains(w.Logs[0], part) {
				t.Errorf("%s is not in %s", part, w.Logs[0])
			}
		}
	})
}

// TestRestartKnowsTheLastScaling: a new controller reads the time of the last scaling from the status. Samples from
// before it lower nothing.
func TestRestartKnowsTheLastScaling(t *testing.T) {
	for set, want := range map[divergence.Set]int32{divergence.Default: 4, divergence.None: 1} {
		inWorld(t, func(t *testing.T, w *world) {
			w.ExternalValue = func(context.Context) (int64, error) { return 100, nil }
			w.Measured = time.Now().Add(-20 * time.Second)
			hpa := horizontaltest.Externally(w.Web("web", 4))
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
			}
			w.AddHPA(hpa)
			w.WriteStatus("web", controllerhorizontal.FieldManager, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
				at := metav1.NewTime(time.Now().Add(-10 * time.Second))
				s.LastScaleTime = &at
			})
			w.Start(func(cfg *controllerhorizontal.Config) { cfg.Options.Divergences = set })
			w.WantReplicas("web", want, "divergences "+set.String())
			if set == divergence.None {
				return
			}
			w.Set(func() { w.Measured = time.Now() })
			w.Pass(horizontaltest.Period)
			w.WantReplicas("web", 1, "the queue was measured anew")
		})
	}
}

// TestSwitchedOffDisturbsNoOther: an object whose target was scaled to 0 by hand does not make the pods of its selector
// ambiguous. It does once its target has replicas.
func TestSwitchedOffDisturbsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		green := w.Web("green", 2)
		blue, replicas := green.DeepCopy(), int32(0)
		blue.Name, blue.UID, blue.Spec.ScaleTargetRef.Name = "blue", "hpa-blue", "blue"
		deployment := w.Deployment("green")
		deployment.Name, deployment.UID, deployment.Spec.Replicas = "blue", "deployment-blue", &replicas
		w.Add(horizontaltest.DeploymentResource, deployment)
		w.AddHPA(blue)
		w.Start()
		w.AddHPA(green)
		want := func(blue, green string) {
			t.Helper()
			w.Pass(2 * horizontaltest.Period)
			if got := w.Condition("blue", autoscalingv2.ScalingActive); got != blue {
				t.Errorf("blue: ScalingActive is %s, want %s", got, blue)
			}
			if got := w.Condition("green", autoscalingv2.ScalingActive); got != green {
				t.Errorf("green: ScalingActive is %s, want %s", got, green)
			}
		}
		want("False ScalingDisabled", "True ValidMetricFound")
		w.SetReplicas("blue", 1)
		want("False AmbiguousSelector", "False AmbiguousSelector")
		w.SetReplicas("blue", 0)
		want("False ScalingDisabled", "True ValidMetricFound")
		w.Set(func() { w.Usage = 200 })
		w.Pass(horizontaltest.Period)
		w.WantReplicas("green", 4, "no other writer scales these pods")
	})
}

// TestDeletedTargetGivesUpItsPods: an object whose target is gone does not stop the next object that selects the same
// pods.
func TestDeletedTargetGivesUpItsPods(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*controllerhorizontal.Config)
		want   string
	}{
		"by default":  {func(*controllerhorizontal.Config) {}, "True ValidMetricFound"},
		"as upstream": {asUpstream, "False AmbiguousSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.AddHPA(w.Web("web", 2))
				w.Start(tt.change)
				w.Pass(horizontaltest.Period)
				if err := w.Client.Tracker().Delete(horizontaltest.DeploymentResource, "shop", "web"); err != nil {
					t.Fatal(err)
				}
				w.Pass(horizontaltest.Period)
				successor := w.Web("successor", 2)
				d := w.Deployment("successor")
				d.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
				w.Store(horizontaltest.DeploymentResource, d)
				w.AddHPA(successor)
				w.Pass(3 * horizontaltest.Period)
				if got := w.Condition("successor", autoscalingv2.ScalingActive); got != tt.want {
					t.Errorf("ScalingActive is %s, want %s", got, tt.want)
				}
			})
		})
	}
}
