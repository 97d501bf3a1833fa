package loop

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// pod requests 500m, of which it shall use half; a request costs 10 milli-core-seconds,
// so that it shall serve 25 a second.
func fixture(t *testing.T, load workloadmodel.Shape, specs ...source.Spec) Config {
	t.Helper()
	profile := workloadmodel.DefaultProfile()
	profile.IdleCPUMilli = 0
	w, err := world.New(world.Config{
		Load: load, Resources: workloadmodel.Resources{CPURequestMilli: 500, CPULimitMilli: 1000, MemoryLimitBytes: 1 << 30},
		Profile:    profile,
		StartAfter: time.Second, ReadyAfter: 2 * time.Second, Replicas: 4, Groups: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(specs) == 0 {
		specs = []source.Spec{{Type: source.Resource, Name: source.CPU,
			Target: source.Target{Type: source.Utilization, Percent: 50}}}
	}
	return Config{
		World: w, Requests: make500(len(specs)),
		Policy: horizontal.Policy{
			MinReplicas: 2, MaxReplicas: 50, Metrics: specs, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			DownscaleStabilization: time.Minute, CPUInitializationPeriod: 5 * time.Minute,
			InitialReadinessDelay: 30 * time.Second,
		},
	}
}

func make500(n int) []metric.Request {
	requests := make([]metric.Request, n)
	for i := range requests {
		requests[i].Milli = 500
	}
	return requests
}

func withDivergences(c Config) Config {
	c.Policy.Divergences, c.Policy.Surge = divergence.Default, surge.Defaults()
	return c
}

func play(w *world.World, l Loop, until time.Duration) {
	for w.Now() < until {
		w.AdvanceTo(min(until, l.Next()))
		l.Act()
	}
}

func steps(t *testing.T, before, after float64, at time.Duration) workloadmodel.Shape {
	t.Helper()
	s, err := workloadmodel.NewSteps([]workloadmodel.Point{{RequestsPerSecond: before},
		{At: at, RequestsPerSecond: after}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPeriods: upstream decides every 15 s and no more often; Plimsoll every second, and every 15 s beside.
func TestPeriods(t *testing.T) {
	for name, test := range map[string]struct {
		loop        func(c Config) Loop
		least, most int
	}{
		"upstream": {func(c Config) Loop { return NewUpstream(c, DefaultUpstreamTiming()) }, 39, 40},
		"plimsoll": {func(c Config) Loop { return NewPlimsoll(withDivergences(c), DefaultPlimsollTiming()) }, 638, 643},
	} {
		c := fixture(t, workloadmodel.Constant(100))
		decisions := 0
		c.OnDecision = func(*horizontal.Observation, *horizontal.Decision) { decisions++ }
		play(c.World, test.loop(c), 10*time.Minute)
		if decisions < test.least || decisions > test.most {
			t.Errorf("%s decides %d times in ten minutes, want %d to %d", name, decisions, test.least, test.most)
		}
		if c.World.Replicas() != 4 {
			t.Errorf("%s wants %d where 4 are right", name, c.World.Replicas())
		}
	}
}

// TestSurge: how long it takes to see that the load has become four times what it was.
func TestSurge(t *testing.T) {
	first := func(begin func(c Config) Loop, seed uint64) time.Duration {
		const rises = 2 * time.Minute
		c := fixture(t, steps(t, 100, 400, rises))
		c.Seed = seed
		var at time.Duration
		c.OnDecision = func(_ *horizontal.Observation, d *horizontal.Decision) {
			if at == 0 && d.Rescale {
				at = c.World.Now() - rises
			}
		}
		play(c.World, begin(c), 4*time.Minute)
		if got := c.World.Replicas(); got < 15 || got > 20 {
			t.Errorf("%d replicas where 16 are right", got)
		}
		return at
	}
	for seed := range uint64(10) {
		if got := first(func(c Config) Loop { return NewPlimsoll(withDivergences(c), DefaultPlimsollTiming()) },
			seed); got <= 0 || got > 3*time.Second {
			t.Errorf("Plimsoll with seed %d: %v", seed, got)
		}
		if got := first(func(c Config) Loop { return NewUpstream(c, DefaultUpstreamTiming()) }, seed); got <= 0 ||
			got > 31*time.Second {
			t.Errorf("upstream with seed %d: %v", seed, got)
		}
	}
}

// TestOtherMetrics: memory and the metrics that are asked for lead to the counts that
// their values ask for.
func TestOtherMetrics(t *testing.T) {
	// 100 requests a second at 64 KiB each for a second, and 32 MiB for each of 4 pods.
	bytes := int64(32<<20 + 100/4*64<<10)
	for name, test := range map[string]struct {
		spec     source.Spec
		replicas int32
	}{
		"memory": {source.Spec{
			Type: source.Resource, Name: "memory", Target: source.Target{Type: source.AverageValue, Milli: bytes * 1000 / 2},
		}, 7},
		"pods": {source.Spec{
			Type: source.Pods, Name: "served", Target: source.Target{Type: source.AverageValue, Milli: 12_500},
		}, 8},
		"object": {source.Spec{
			Type: source.Object, Name: "offered", Target: source.Target{Type: source.AverageValue, Milli: 12_500},
		}, 8},
		"external": {source.Spec{
			Type: source.External, Name: "waiting", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}, 2},
	} {
		for side, begin := range map[string]func(c Config) Loop{
			"upstream": func(c Config) Loop { return NewUpstream(c, DefaultUpstreamTiming()) },
			"plimsoll": func(c Config) Loop { return NewPlimsoll(withDivergences(c), DefaultPlimsollTiming()) },
		} {
			c := fixture(t, workloadmodel.Constant(100), test.spec)
			seen := int32(0)
			c.OnDecision = func(_ *horizontal.Observation, d *horizontal.Decision) {
				if d.Failed > 0 && c.World.Now() > 40*time.Second {
					t.Errorf("%s, %s: %v", name, side, d.Metrics[0].Failure)
				}
				if d.Rescale && seen == 0 {
					seen = d.Desired
				}
			}
			play(c.World, begin(c), 3*time.Minute)
			// The first proposal counts: with memory, pods cost some themselves, and not all of them
			// may be known yet.
			if seen < test.replicas-1 || seen > test.replicas+1 {
				t.Errorf("%s, %s: %d at first, want about %d", name, side, seen, test.replicas)
			}
		}
	}
}

// TestSyncsDrift: upstream's sync period begins when a sync ends, so that syncs come at all times between scrapes in
// the course of hours. The scrapes keep theirs.
func TestSyncsDrift(t *testing.T) {
	c := fixture(t, workloadmodel.Constant(100))
	var syncs []time.Duration
	c.OnDecision = func(*horizontal.Observation, *horizontal.Decision) { syncs = append(syncs, c.World.Now()) }
	u := NewUpstream(c, DefaultUpstreamTiming())
	phase := u.server.scrape
	play(c.World, u, 3*time.Hour+10*time.Minute)
	for i := range syncs[1:] {
		if late := syncs[i+1] - syncs[i] - 15*time.Second; late < shortestSync || late >= longestSync {
			t.Fatalf("syncs at %v and %v", syncs[i], syncs[i+1])
		}
	}
	if drift := syncs[len(syncs)-1] - syncs[0] - time.Duration(len(syncs)-1)*15*time.Second; drift < 13*time.Second {
		t.Errorf("syncs drifted by %v in three hours", drift)
	}
	if late := (u.server.scrape - phase) % (15 * time.Second); late != 0 {
		t.Errorf("scrapes drifted by %v", late)
	}
}

// TestAligned: aligned scrapes are at whole seconds.
func TestAligned(t *testing.T) {
	c := withDivergences(fixture(t, workloadmodel.Constant(100)))
	timing := DefaultPlimsollTiming()
	timing.Aligned = true
	p := NewPlimsoll(c, timing)
	for range 30 {
		c.World.AdvanceTo(p.Next())
		p.Act()
		for i := range p.groups {
			if p.groups[i].next%time.Second != 0 {
				t.Fatalf("the next scrape is at %v", p.groups[i].next)
			}
		}
	}
}
