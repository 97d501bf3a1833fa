package horizontal_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestForecastLearnsBetweenSyncPeriods: an object with a long sync period gets additional decisions to learn from if it
// asks for a forecast that acts. Otherwise its metric is requested as seldom as without a forecast. The status shows
// the progress.
func TestForecastLearnsBetweenSyncPeriods(t *testing.T) {
	for name, c := range map[string]struct {
		forecast *plimsollv1alpha1.Forecast
		want     string
		most     int
	}{
		"by default": {nil, "it has seen 0 of the 30 hours of load that it needs", 3*6 + 2},
		"only shown": {&plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastPreview},
			"it has seen 0 of the 30 hours of load that it needs", 3*6 + 2},
		"asked for": {&plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastActive},
			"it has seen 3 of the 30 hours of load that it needs", 3 * 60 * 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.Workloads()
				object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
				object.Spec.SyncPeriodSeconds, object.Spec.Forecast = ptr.To[int32](600), c.forecast
				requests := 0
				w.ExternalValue = func(context.Context) (int64, error) { requests++; return 1000, nil }
				api.Put(object)
				w.Start(api.Serve, horizontaltest.Rarely, func(c *controllerhorizontal.Config) { c.Triggers = true })
				w.Pass(3*time.Hour + 5*time.Minute)
				f := api.Get("web").Status.Forecast
				if f == nil || f.Reason != "Learning" || f.LearningUntil == nil {
					t.Fatalf("the status shows %+v", f)
				}
				if f.Message != c.want || requests > c.most {
					t.Errorf("%q after %d requests, want %q after %d at most", f.Message, requests, c.want, c.most)
				}
			})
		})
	}
}

// TestForecastThatIsOff: it learns nothing, and triggers no decisions.
func TestForecastThatIsOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
		object.Spec.Forecast = &plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastOff}
		w.ExternalValue = func(context.Context) (int64, error) { return 1000, nil }
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely, func(c *controllerhorizontal.Config) { c.Triggers = true })
		w.Pass(10 * time.Minute)
		if status := api.Get("web").Status; status.Forecast != nil || status.EffectiveMaxReplicas == nil {
			t.Errorf("the status shows %+v, and max %v", status.Forecast, status.EffectiveMaxReplicas)
		}
	})
}
