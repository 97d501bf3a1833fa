package horizontal

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
)

// TestResourceVersionsThatGoBack: as after etcd was restored. What was written before is
// never seen again; the object is decided on what is stored.
func TestResourceVersionsThatGoBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.version = 1_000_000
		for _, name := range []string{"web", "other"} {
			w.addHPA(w.web(name, 2))
		}
		w.start()
		w.set(func() { w.usage = 200 })
		w.pass(2 * period)
		w.wantReplicas("web", 4, "its scale was written, too")
		w.set(func() { w.version = 5000 })
		for _, name := range []string{"web", "other"} {
			w.store(hpaResource, w.hpa(name)) // what listing anew brings
			w.store(deploymentResource, w.deployment(name))
		}
		before := w.decisions()
		w.set(func() { w.usage = 800 })
		w.pass(status.LagPeriods * period)
		if n := w.decisions() - before; n != 0 {
			t.Errorf("%d decisions while it may still be the cache that is behind", n)
		}
		w.pass(2 * period)
		for _, name := range []string{"web", "other"} {
			if got := w.replicas(name); got <= 4 {
				t.Errorf("%s has %d replicas at eight times the target", name, got)
			}
		}
		if got := w.metric("plimsoll_resource_version_regressions_total"); got != 2 {
			t.Errorf("counted %v times, want once for each object", got)
		}
		if n := w.logged("resource versions have gone back"); n != 1 {
			t.Errorf("logged %d times, want once for all", n)
		}
		if got := w.metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v objects are stale afterwards", got)
		}
	})
}

// TestCacheThatStaysBehind: nothing is decided on it, however long that takes, and a series shows
// it.
func TestCacheThatStaysBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hideStatus = true
		w.addHPA(w.web("web", 2))
		w.start()
		w.pass(time.Second)
		before := w.decisions()
		w.pass(20 * period)
		if n := w.decisions() - before; n != 0 {
			t.Errorf("%d decisions", n)
		}
		if got := w.metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 1 {
			t.Errorf("%v objects are stale, want 1", got)
		}
		w.deleteHPA("web")
		w.pass(2 * period)
		if got := w.metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v objects are stale after the deletion", got)
		}
	})
}
