package monitor_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestSeriesOfADecision: the proposal of each metric and the binding limit have series as long as the object exists.
func TestSeriesOfADecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Set(func() { w.Usage = 2000 })
		w.Pass(5 * horizontaltest.Period)
		if got := w.Metric("plimsoll_horizontal_bound", "web", "max_replicas", "shop"); got != 1 {
			t.Errorf("max replicas bind: %v, want 1", got)
		}
		if got := w.Metric("plimsoll_horizontal_proposed_replicas", "web", "0", "Resource", "shop"); got <= 20 {
			t.Errorf("the metric wants %v replicas, want more than the 20 that may be", got)
		}
		w.DeleteHPA("web")
		w.Pass(horizontaltest.Period)
		if n, err := testutil.GatherAndCount(w.Registry, "plimsoll_horizontal_bound"); err != nil || n != 0 {
			t.Errorf("%d series of an object that is gone, %v", n, err)
		}
	})
}
