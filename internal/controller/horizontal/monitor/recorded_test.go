package monitor_test

import (
	"context"
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestRecordsLoads: an object's load and the decisions on it can be read.
func TestRecordsLoads(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		load := int64(300)
		w.ExternalValue = func(context.Context) (int64, error) { return load, nil }
		hpa := horizontaltest.Externally(w.Web("web", 2))
		hpa.Spec.MaxReplicas = 4
		w.AddHPA(hpa)
		var controller *controllerhorizontal.Controller
		w.Made = func(c *controllerhorizontal.Controller) { controller = c }
		begin := time.Now()
		w.Start()
		w.Pass(10 * time.Minute)
		w.Set(func() { load = 900 })
		w.Pass(10 * time.Minute)

		key := observe.Key{
			NamespacedName: types.NamespacedName{Namespace: hpa.Namespace, Name: "web"}, Kind: observe.HorizontalPodAutoscaler,
		}
		encoded, _, err := controller.EncodedHistory(key)
		var history loadhistory.History
		if err == nil {
			err = history.UnmarshalBinary(encoded)
		}
		if err != nil {
			t.Fatal(err)
		}
		var calm, high int
		history.Points(begin, time.Now(), func(p loadhistory.Point) bool {
			switch {
			case math.Abs(p.Load-3) < 0.05 && p.Wanted <= 3 && p.Limit == loadhistory.None:
				calm++
			case math.Abs(p.Load-9) < 0.05 && p.Wanted == 4 && p.Limit == loadhistory.TooManyReplicas:
				high++
			}
			return true
		})
		if calm < 10 || high < 10 {
			t.Errorf("%d points of the calm, %d of the high load", calm, high)
		}
		key.Name = "other"
		if encoded, _, err := controller.EncodedHistory(key); encoded != nil || err != nil {
			t.Errorf("of an object that is not there: %d bytes, %v", len(encoded), err)
		}
	})
}
