package observe

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// TestStartUpOf: the start-up times of pods count, unless they may have become ready again for another reason.
func TestStartUpOf(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	of := func(took time.Duration, change func(p *Pod)) *Pod {
		p := &Pod{Created: noon.UnixNano(), Startup: Startup{Running: 1}}
		p.Ready, p.ReadyTransition = metric.ReadyTrue, noon.Add(took)
		if change != nil {
			change(p)
		}
		return p
	}
	plain := of(30*time.Second, nil)
	for name, c := range map[string]struct {
		pods []*Pod
		want time.Duration
	}{
		"none":                       {nil, 0},
		"one":                        {[]*Pod{plain}, 30 * time.Second},
		"a container was restarted":  {[]*Pod{plain, of(time.Minute, func(p *Pod) { p.Startup.Running = 0 })}, 30 * time.Second},
		"not ready":                  {[]*Pod{plain, of(time.Minute, func(p *Pod) { p.Ready = metric.ReadyFalse })}, 30 * time.Second},
		"ready again after an hour":  {[]*Pod{plain, of(time.Hour, nil)}, 30 * time.Second},
		"a pod that was not created": {[]*Pod{of(time.Minute, func(p *Pod) { p.Created = 0 })}, 0},
	} {
		if got := StartUpOf(c.pods, noon.Add(2*time.Hour)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
