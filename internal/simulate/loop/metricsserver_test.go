package loop

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// TestServed: metrics-server answers of all containers of a pod, with the time of the oldest, or of none.
func TestServed(t *testing.T) {
	const mi = 1 << 20
	epoch := world.Epoch
	scrape := func(c *world.Container, at time.Duration, cpuSeconds float64) {
		c.Meter.Scrape(meter.Reading{At: at, CPUSeconds: cpuSeconds, MemoryBytes: mi})
		c.Meter.Publish(0, 15*time.Second)
	}
	p := &world.Pod{Containers: []world.Container{{Name: "app"}, {Name: "sidecar"}}}
	app, sidecar := &p.Containers[0], &p.Containers[1]
	cpu := &source.Spec{Name: source.CPU}
	scrape(app, 20*time.Second, 4)
	scrape(sidecar, 15*time.Second, 1)
	scrape(app, 32*time.Second, 7)
	if got := served(epoch, p, cpu); got.Present {
		t.Errorf("one container has an average: %+v", got)
	}
	scrape(sidecar, 25*time.Second, 2)
	old := metric.Sample{Present: true, At: epoch.Add(25 * time.Second), Window: 10 * time.Second}
	for _, test := range []struct {
		spec  *source.Spec
		milli int64
	}{
		{cpu, 350}, {&source.Spec{Name: "memory"}, 2 * mi * 1000},
		{&source.Spec{Name: source.CPU, Container: "sidecar"}, 100}, {&source.Spec{Name: source.CPU, Container: "app"}, 250},
	} {
		want := old
		want.Milli = test.milli
		if got := served(epoch, p, test.spec); got != want {
			t.Errorf("%s of %q: %+v, want %+v", test.spec.Name, test.spec.Container, got, want)
		}
	}
	if got := served(epoch, p, &source.Spec{Name: source.CPU, Container: "none"}); got.Present {
		t.Errorf("a container that there is not: %+v", got)
	}
}

// outage is a fixture of which the nodes of so many groups do not answer from the second minute to the fourth.
func outage(t *testing.T, groups int) Config {
	t.Helper()
	profile := workloadmodel.DefaultProfile()
	profile.IdleCPUMilli = 0
	c := fixture(t, workloadmodel.Constant(100))
	var err error
	c.World, err = world.New(world.Config{
		Load: workloadmodel.Constant(100), Resources: workloadmodel.Resources{CPURequestMilli: 500, CPULimitMilli: 1000},
		Profile: profile, Replicas: 6, Groups: 3,
		Outages: []world.Outage{{From: 2 * time.Minute, To: 4 * time.Minute, Groups: groups}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Policy.MinReplicas, c.Policy.MaxReplicas = 6, 6
	return withDivergences(c)
}

// TestStandIn: where a third of the nodes does not answer, metrics.k8s.io stands in, which has no samples of their pods
// after its next scrape. Where no node answers, it has none.
func TestStandIn(t *testing.T) {
	for name, test := range map[string]struct {
		groups, known int
		window        time.Duration
	}{
		"a third of the nodes": {1, 4, 15 * time.Second}, "all nodes": {3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := outage(t, test.groups)
			c.OnDecision = func(o *horizontal.Observation, _ *horizontal.Decision) {
				// Until then metrics-server answers with what it had.
				at := c.World.Now()
				if at < 150*time.Second || at >= 4*time.Minute {
					return
				}
				r, known := &o.Readings[0], 0
				for i := range r.Samples {
					if s := &r.Samples[i]; s.Present {
						known++
						if s.Window != test.window || len(r.Recent) > 0 {
							t.Errorf("%v: %+v, %d pods have intervals", at, s, len(r.Recent))
						}
					}
				}
				if known != test.known || r.Empty != (known == 0) {
					t.Errorf("%v: %d pods have samples, %q", at, known, r.Error)
				}
			}
			p := NewPlimsoll(c, DefaultPlimsollTiming())
			play(c.World, p, 4*time.Minute)
			c.OnDecision = nil
			play(c.World, p, 5*time.Minute)
			for i, r := range p.observation.Readings[0].Samples {
				if age := c.World.Time(c.World.Now()).Sub(r.At); !r.Present || age > 2*time.Second {
					t.Errorf("a minute after that, the sample of pod %d is %v old", i, age)
				}
			}
		})
	}
}
