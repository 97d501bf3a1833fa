package scaling_test

import (
	"errors"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

func TestScaleConflict(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(w *world)
		want      int32
		why       string
	}{
		"the target changed in other ways": {
			meanwhile: func(w *world) { w.Store(horizontaltest.DeploymentResource, w.Deployment("web")) },
			want:      4, why: "the same write is tried again on the newer target",
		},
		"another writer scaled": {
			meanwhile: func(w *world) { w.SetReplicas("web", 5) },
			want:      10, why: "their 5 are not overwritten by 4, but are where the next decision starts",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				once := false
				w.BeforeScale = func() error {
					if !once {
						once = true
						test.meanwhile(w)
					}
					return nil
				}
				w.Usage = 200
				w.AddHPA(w.Web("web", 2))
				for _, name := range []string{"web-a", "web-b", "web-c"} {
					w.Add(horizontaltest.PodResource, horizontaltest.Pod(name, map[string]string{"app": "web"}))
				}
				w.Start()
				w.Pass(time.Second)
				w.WantReplicas("web", test.want, test.why)
				if w.HasEvent("FailedRescale") {
					t.Errorf("a conflict that healed is no event: %q", w.Events)
				}
			})
		})
	}
}

func TestScaleWriteFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage, w.BeforeScale = 200, func() error { return errors.New("no such luck") }
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.WantReplicas("web", 2, "the write failed")
		if got := w.Condition("web", autoscalingv2.AbleToScale); got != "False FailedUpdateScale" {
			t.Errorf("AbleToScale is %s", got)
		}
		if !w.HasEvent("Warning FailedRescale: New size: 4; reason: cpu resource utilization (percentage of " +
			"request) above target; error: no such luck") {
			t.Errorf("events %q", w.Events)
		}
		w.Set(func() { w.BeforeScale = nil })
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "the next write works")
	})
}

func TestTargetGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 2)
		hpa.Spec.ScaleTargetRef.Name = "other"
		w.AddHPA(hpa)
		w.Start()
		if got := w.Condition("web", autoscalingv2.AbleToScale); got != "False FailedGetScale" {
			t.Errorf("AbleToScale is %s", got)
		}
		if !w.HasEvent(`Warning FailedGetScale: deployments.apps "other" not found`) {
			t.Errorf("events %q", w.Events)
		}
	})
}

func TestBadReferenceCountsAsSpecError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 2)
		hpa.Spec.ScaleTargetRef.APIVersion = "a/b/c"
		w.AddHPA(hpa)
		w.Start()
		if !w.HasEvent("Warning FailedGetScale: unexpected GroupVersion string: a/b/c") {
			t.Errorf("events %q", w.Events)
		}
		if got := w.Metric("horizontal_pod_autoscaler_controller_reconciliations_total", "none", "spec"); got != 1 {
			t.Errorf("%v spec errors", got)
		}
	})
}
