package handover

import (
	"context"
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// The start-up time of each new pod of a scale-up is measured, and the parts add up: simulated pods become ready three
// seconds after their containers run.
func TestMeasuresHowPodsStart(t *testing.T) {
	s, p := namespace(t)
	restart(t, s, loopOff)
	workload := harness.Workload{Annotations: map[string]string{"sim.plimsoll.dev/startup-delay": "3s"}}
	s.Create(workload.Deployment(), harness.Queue("jobs", 5),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	b := p.StartInstance(t, "measures-starts", "--leader-elect=false")
	s.AwaitConditions("web", validMetric())
	s.SetQueue("jobs", 35)
	s.Eventually("three measured pods", func(context.Context) error {
		if n := b.Metric("plimsoll_horizontal_scale_to_ready_seconds_count"); n != 3 {
			return fmt.Errorf("%g", n)
		}
		return nil
	})
	part := func(name string) float64 {
		label := fmt.Sprintf("part=%q", name)
		if n := b.Metric("plimsoll_horizontal_startup_seconds_count", label); n != 3 {
			t.Errorf("%g pods have the part %s", n, name)
		}
		return b.Metric("plimsoll_horizontal_startup_seconds_sum", label)
	}
	whole, sum := b.Metric("plimsoll_horizontal_scale_to_ready_seconds_sum"), 0.0
	for _, name := range []string{"creation", "scheduling", "sandbox", "init", "image", "readiness"} {
		sum += part(name)
	}
	// In whole seconds each pod is off by one at most.
	if ready := part("readiness"); ready < 3*2 || ready > 3*6 || sum != whole {
		t.Errorf("three pods took %g s from running to ready and %g s in all, the parts together %g s", ready, whole, sum)
	}
}
