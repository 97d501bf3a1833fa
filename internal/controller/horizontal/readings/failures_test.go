package readings_test

import (
	"context"
	"errors"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

func TestHungAdapterDelaysOnlyItsObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ExternalValue = func(ctx context.Context) (int64, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return 0, errors.New("hung up")
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.AddHPA(horizontaltest.Externally(w.Web(name, 2)))
		}
		w.Usage = 200
		w.AddHPA(w.Web("web", 2))
		w.Start() // with two workers
		w.WantReplicas("web", 4, "five objects hang, this one does not")
		before := w.Decisions()
		w.Pass(4 * horizontaltest.Period)
		if n := w.Decisions() - before; n < 4 {
			t.Errorf("%d decisions in four periods", n)
		}
	})
}

func TestFailedMetricHeals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.Start()
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "False FailedGetExternalMetric" {
			t.Errorf("ScalingActive is %s", got)
		}
		if !w.HasEvent("Warning FailedComputeMetricsReplicas") {
			t.Errorf("events %q", w.Events)
		}
		w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return 300, nil } })
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 3, "the metric is back")
	})
}
