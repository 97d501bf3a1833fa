package horizontal_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestDiscoveryHoldsNoSlot: the slots of a kind are for calls about its objects.
func TestDiscoveryHoldsNoSlot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(horizontaltest.Custom(w.Web("none", 1), "example.com/v1", "Kind"))
		var c *controllerhorizontal.Controller
		w.Made = func(made *controllerhorizontal.Controller) { c = made }
		w.Start(func(c *controllerhorizontal.Config) { c.Mapper = horizontaltest.SlowMapper{RESTMapper: c.Mapper} })
		w.Pass(5 * time.Second)
		for free := range 2 * controllerhorizontal.CallsPerWorker {
			if !c.Scaler().Reads.TryAcquire(schema.GroupKind{Group: "example.com", Kind: "Kind"}) {
				t.Fatalf("only %d slots are free while a kind is being discovered", free)
			}
		}
	})
}
