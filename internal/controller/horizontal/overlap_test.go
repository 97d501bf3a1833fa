package horizontal_test

import (
	"strings"
	"testing"
	"time"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
)

// A WorkloadAutoscaler stops if its pods belong to another autoscaler too, whichever controller acts on that one. HPAs
// that are left to another controller keep their pods, although Plimsoll reads nothing for them.
func TestPodsOfAnHPAThatIsLeftToAnother(t *testing.T) {
	for _, mode := range []takeover.Mode{takeover.Act, takeover.Auto} {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.Web("web", 2))
			w.UpstreamDecides("web", 2)
			api := w.Workloads()
			other := w.Web("other", 2)
			d := w.Deployment("other")
			d.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
			w.Store(horizontaltest.DeploymentResource, d)
			api.Put(horizontaltest.WorkloadOf(other))
			w.Set(func() { w.Usage = 200 })
			w.Start(api.Serve, func(c *controllerhorizontal.Config) { c.HPAs = mode })
			for i := range int32(12) {
				if mode == takeover.Auto {
					w.UpstreamDecides("web", 2+i%2)
				}
				w.Pass(horizontaltest.Period)
			}
			w.WantReplicas("other", 2, "its pods are those of the HPA web too")
			var conditions []string
			for _, c := range api.Get("other").Status.Conditions {
				conditions = append(conditions, c.Reason)
			}
			if !strings.Contains(strings.Join(conditions, " "), "AmbiguousSelector") {
				t.Errorf("mode %s: conditions %q", mode, conditions)
			}
			w.DeleteHPA("web")
			w.Pass(time.Minute)
			if got := w.Replicas("other"); got == 2 {
				t.Errorf("mode %s: the HPA is gone, and there are still %d replicas", mode, got)
			}
		})
	}
}
