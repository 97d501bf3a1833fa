package surge_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// TestCalm: with a target of 500m and a tolerance of a tenth, an object is calm up to the surge window's margin, 1.5
// times its usage, or less if an average reaches the end of the tolerance earlier.
func TestCalm(t *testing.T) {
	few := recent(300, 300, 300)
	for name, tt := range map[string]struct {
		reason string
		change func(*scene)
		result surge.Result
		want   trigger.Calm
	}{
		"calm": {"1.5 × 500m", nil, surge.Result{}, trigger.Calm{Is: true, CPUMilli: 750}},
		"no tolerance": {"whatever is above the target", func(s *scene) { s.context.Tolerance.Up = 0 }, surge.Result{},
			trigger.Calm{Is: true, CPUMilli: 500}},
		"little tolerance": {"1 + 0.02/2 × 16", func(s *scene) { s.context.Tolerance.Up = 0.02 }, surge.Result{},
			trigger.Calm{Is: true, CPUMilli: 580}},
		"no surge window": {"the average alone", func(s *scene) { s.settings = surge.Settings{} }, surge.Result{},
			trigger.Calm{Is: true, CPUMilli: 500}},
		"average value": {"1.5 × 200m", func(s *scene) { s.average(200) }, surge.Result{},
			trigger.Calm{Is: true, CPUMilli: 300}},
		"requests differ": {"1.5 × (500m + 1500m)/2", func(s *scene) { s.reading.Requests[1].Milli = 3000 }, surge.Result{},
			trigger.Calm{Is: true, CPUMilli: 1500}},
		"memory": {"memory is no average: halfway through the tolerance", func(s *scene) { s.spec.Name = "memory" },
			surge.Result{}, trigger.Calm{Is: true, MemoryMilli: 525}},
		"another's metric": {"samples of nodes do not matter", func(s *scene) { s.spec.Type = source.External },
			surge.Result{}, trigger.Calm{Is: true}},
		"near":       {"1.06 of the target", func(s *scene) { s.result.Ratio = 1.06 }, surge.Result{}, trigger.Calm{}},
		"suspicious": {"one more decides", nil, surge.Result{Suspicious: true}, trigger.Calm{}},
		"asking":     {"there is a surge", nil, surge.Result{Verdict: surge.Asking}, trigger.Calm{}},
		"failed":     {"nothing is known", func(s *scene) { s.result.Failure = &source.Failure{} }, surge.Result{}, trigger.Calm{}},
		"no values":  {"nothing is known yet", func(s *scene) { s.result.Pending = true }, surge.Result{}, trigger.Calm{}},
		"new pods":   {"averages are short, and rise fast", func(s *scene) { s.result.Newest = 1 }, surge.Result{}, trigger.Calm{}},
		"no requests": {"no limit is known", func(s *scene) {
			for i := range s.reading.Requests {
				s.reading.Requests[i] = metric.Request{Missing: metric.ContainerNotFound}
			}
		}, surge.Result{}, trigger.Calm{}},
	} {
		s := sceneOf(few, few)
		if tt.change != nil {
			tt.change(s)
		}
		if got := surge.Calm(&s.settings, s.input(), &tt.result); got != tt.want {
			t.Errorf("%s: %+v, want %+v: %s", name, got, tt.want, tt.reason)
		}
	}
}
