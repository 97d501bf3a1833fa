package status_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
)

// TestResourceVersionsThatGoBack: as after etcd was restored. The last write never appears in the cache; the controller
// decides on the stored object.
func TestResourceVersionsThatGoBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Version = 1_000_000
		for _, name := range []string{"web", "other"} {
			w.AddHPA(w.Web(name, 2))
		}
		w.Start()
		w.Set(func() { w.Usage = 200 })
		w.Pass(2 * horizontaltest.Period)
		w.WantReplicas("web", 4, "its scale was written, too")
		w.Set(func() { w.Version = 5000 })
		for _, name := range []string{"web", "other"} {
			w.Store(horizontaltest.HPAResource, w.HPA(name)) // the result of a new list
			w.Store(horizontaltest.DeploymentResource, w.Deployment(name))
		}
		before := w.Decisions()
		w.Set(func() { w.Usage = 800 })
		w.Pass(status.LagPeriods * horizontaltest.Period)
		if n := w.Decisions() - before; n != 0 {
			t.Errorf("%d decisions while it may still be the cache that is behind", n)
		}
		w.Pass(2 * horizontaltest.Period)
		for _, name := range []string{"web", "other"} {
			if got := w.Replicas(name); got <= 4 {
				t.Errorf("%s has %d replicas at eight times the target", name, got)
			}
		}
		if got := w.Metric("plimsoll_resource_version_regressions_total"); got != 2 {
			t.Errorf("counted %v times, want once for each object", got)
		}
		if n := w.Logged("resource versions have gone back"); n != 1 {
			t.Errorf("logged %d times, want once for all", n)
		}
		if got := w.Metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v objects are stale afterwards", got)
		}
	})
}

// TestCacheThatStaysBehind: there is no decision on it, however long that takes, and a series shows it.
func TestCacheThatStaysBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.HideStatus = true
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Pass(time.Second)
		before := w.Decisions()
		w.Pass(20 * horizontaltest.Period)
		if n := w.Decisions() - before; n != 0 {
			t.Errorf("%d decisions", n)
		}
		if got := w.Metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 1 {
			t.Errorf("%v objects are stale, want 1", got)
		}
		w.DeleteHPA("web")
		w.Pass(2 * horizontaltest.Period)
		if got := w.Metric("plimsoll_stale_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v objects are stale after the deletion", got)
		}
	})
}
