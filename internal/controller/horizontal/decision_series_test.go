package horizontal

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSeriesOfADecision: what each metric wants and which limit binds is to be seen
// for as long as the object is there.
func TestSeriesOfADecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start()
		w.set(func() { w.usage = 2000 })
		w.pass(5 * period)
		if got := w.metric("plimsoll_horizontal_bound", "web", "max_replicas", "shop"); got != 1 {
			t.Errorf("max replicas bind: %v, want 1", got)
		}
		if got := w.metric("plimsoll_horizontal_proposed_replicas", "web", "0", "Resource", "shop"); got <= 20 {
			t.Errorf("the metric wants %v replicas, want more than the 20 that may be", got)
		}
		w.deleteHPA("web")
		w.pass(period)
		if n, err := testutil.GatherAndCount(w.registry, "plimsoll_horizontal_bound"); err != nil || n != 0 {
			t.Errorf("%d series of an object that is gone, %v", n, err)
		}
	})
}
