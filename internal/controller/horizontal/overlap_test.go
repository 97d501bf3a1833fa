package horizontal

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
)

// A WorkloadAutoscaler stops where its pods belong to another autoscaler too, whoever acts on that one. HPAs that are
// left to another controller keep their pods, although nothing is read for them.
func TestPodsOfAnHPAThatIsLeftToAnother(t *testing.T) {
	for _, mode := range []takeover.Mode{takeover.Act, takeover.Auto} {
		inWorld(t, func(t *testing.T, w *world) {
			w.addHPA(w.web("web", 2))
			w.upstreamDecides("web", 2)
			api := w.workloads()
			other := w.web("other", 2)
			d := w.deployment("other")
			d.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
			w.store(deploymentResource, d)
			api.put(workloadOf(other))
			w.set(func() { w.usage = 200 })
			w.start(api.serve, func(c *Config) { c.HPAs = mode })
			for i := range int32(12) {
				if mode == takeover.Auto {
					w.upstreamDecides("web", 2+i%2)
				}
				w.pass(period)
			}
			w.wantReplicas("other", 2, "its pods are those of the HPA web too")
			var conditions []string
			for _, c := range api.get("other").Status.Conditions {
				conditions = append(conditions, c.Reason)
			}
			if !strings.Contains(strings.Join(conditions, " "), "AmbiguousSelector") {
				t.Errorf("mode %s: conditions %q", mode, conditions)
			}
			w.deleteHPA("web")
			w.pass(time.Minute)
			if got := w.replicas("other"); got == 2 {
				t.Errorf("mode %s: the HPA is gone, and there are still %d replicas", mode, got)
			}
		})
	}
}
