package status_test

import (
	"errors"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

func TestStatusWriteFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.BeforeStatus = func() error { return errors.New("no such luck") }
		w.AddHPA(w.Web("web", 2))
		w.Start()
		if !w.HasEvent("Warning FailedUpdateStatus: no such luck") {
			t.Errorf("events %q", w.Events)
		}
		w.Set(func() { w.BeforeStatus = nil })
		w.Pass(horizontaltest.Period)
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Errorf("ScalingActive is %s", got)
		}
	})
}

func TestEditBetweenDecisionAndStatusKeepsBoth(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		once := false
		w.BeforeStatus = func() error {
			if !once {
				once = true
				w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 7 })
			}
			return nil
		}
		w.Usage = 200
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Pass(time.Second)
		hpa := w.HPA("web")
		if hpa.Spec.MaxReplicas != 7 || hpa.Status.LastScaleTime == nil {
			t.Errorf("max %d, last scale time %v: the edit or the scale is lost", hpa.Spec.MaxReplicas,
				hpa.Status.LastScaleTime)
		}
		if w.HasEvent("FailedUpdateStatus") {
			t.Errorf("events %q", w.Events)
		}
	})
}

func TestConflictOfStatusWithAnotherWriter(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.BeforeStatus = func() error {
			return apierrors.NewConflict(horizontaltest.HPAResource.GroupResource(), "web", errors.New("always"))
		}
		w.AddHPA(w.Web("web", 2))
		w.Start()
		if !w.HasEvent("FailedUpdateStatus") {
			t.Errorf("events %q", w.Events)
		}
	})
}
