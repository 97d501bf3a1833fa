package horizontal_test

import (
	"testing"
	"time"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestStatusesDoNotHoldDecisions: while all write slots are in use, each round of samples still triggers decisions, and
// statuses are written when a slot is free.
func TestStatusesDoNotHoldDecisions(t *testing.T) {
	const objects = 10
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		w.Multitude(objects)
		var c *controllerhorizontal.Controller
		taken := 0
		w.Made = func(made *controllerhorizontal.Controller) {
			c = made
			c.Reader().Early.SetBurst(0) // requests wait
			for c.Status().Writes.TryAcquire(status.KindOf(observehorizontal.Autoscaler{})) {
				taken++
			}
		}
		w.Start(k.Direct, horizontaltest.Usual, func(cfg *controllerhorizontal.Config) { cfg.StatusInterval = time.Minute })
		w.Pass(8 * time.Second)
		k.Decisions()
		w.Pass(2 * time.Second)
		if n := len(k.Decisions()); n < 2*objects || w.DecidedOn(objects) > 0 {
			t.Errorf("%d decisions in two seconds, %d statuses", n, w.DecidedOn(objects))
		}
		for range taken {
			c.Status().Writes.Release(status.KindOf(observehorizontal.Autoscaler{}))
		}
		w.Pass(1200 * time.Millisecond)
		if n := w.DecidedOn(objects); n != objects {
			t.Errorf("%d of %d statuses are written", n, objects)
		}
	})
}
