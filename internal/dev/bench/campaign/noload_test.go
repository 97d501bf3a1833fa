package campaign

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// The kubelets of these tests have new samples at each scrape, or agents have.
var (
	fresh  = Kubelets{Name: "fresh"}
	agents = Kubelets{Name: "fresh, with agents", Agents: 250 * time.Millisecond}
)

// tenPods is a case of ten pods at their target, half of 200m.
func tenPods() *Case {
	return &Case{
		Name: "ten pods", Load: flat(1800, 5), Autoscaler: Autoscaler{Min: 1, Max: 400, TargetPercent: 50},
		Pods: Pods{
			RequestMilli: 200, StartAfter: time.Second, ReadyAfter: 2 * time.Second, Noise: 0.2, StartupCPUMilli: 300,
			Startup: 2 * time.Second,
		},
	}
}

// peaks are the largest counts that are wanted before a time, and from then on.
func peaks(t *testing.T, p *play, border time.Duration) (before, after int32) {
	t.Helper()
	p.decided = func(at time.Duration, _ *horizontal.Observation, d *horizontal.Decision) {
		if at < border {
			before = max(before, d.Desired)
		} else {
			after = max(after, d.Desired)
		}
	}
	if _, err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return before, after
}

var withoutSurgeWindow = Side{Name: "without the surge window", Of: plimsoll.Of, Without: divergence.SurgeWindow}

// TestCronIsNoLoad: every four minutes all pods run a cron job of 4 s. In its first seconds it cannot be distinguished
// from a load of which ten pods use (100m + 200m)/100m of their target. The proposal for that is 30, or with noise that
// of the lowest of its intervals; the job ends before new pods could show more. Later times are ignored: only the
// averages decide.
//
// Three intervals of samples that come four times a second lie within two seconds, so that the noise of one second may
// be in all of them. It is drawn for each pod and second: on average over ten, it is a pod more.
func TestCronIsNoLoad(t *testing.T) {
	c := tenPods()
	c.Work = []world.Work{{
		Every: 4 * time.Minute, Lasts: 4 * time.Second, After: 100 * time.Second, CPUMilli: 200,
	}}
	// The load begins a minute after the world.
	const second, once = (100 + 240 - 60) * time.Second, 30
	for seed := range uint64(2) {
		for k, most := range map[*Kubelets]int32{&fresh: once, &agents: once + 1} {
			first, later := peaks(t, &play{c: c, kubelets: k, side: &plimsoll, seed: seed}, second)
			_, alone := peaks(t, &play{c: c, kubelets: k, side: &withoutSurgeWindow, seed: seed}, second)
			t.Logf("seed %d, %s: %d at first, %d later, %d without the surge window", seed, k.Name, first, later, alone)
			if first > most || later > alone+1 {
				t.Errorf("seed %d, %s: %d at first, want %d at most; %d later, want %d at most", seed, k.Name, first, most,
					later, alone+1)
			}
		}
	}
}

// TestCompilingIsNoLoad: new pods compile until 30 s after they are ready. The load doubles once and takes 20 pods; the
// use of their start-up adds little, and ends with it.
func TestCompilingIsNoLoad(t *testing.T) {
	c := tenPods()
	c.Load = join(flat(60, 5), flat(300, 10))
	c.Startup, c.StartupCPUMilli = 32*time.Second, 200
	for seed := range uint64(4) {
		for _, side := range []*Side{&plimsoll, &withoutSurgeWindow} {
			_, got := peaks(t, &play{c: c, kubelets: &fresh, side: side, seed: seed}, 0)
			if got > 25 || got < 18 {
				t.Errorf("seed %d, %s: %d replicas, the load takes 20", seed, side.Name, got)
			}
		}
	}
}

// TestRolloutIsNoLoad: a rollout replaces all pods at once, and each new one works for a minute for itself. If only new
// pods show that, Plimsoll decides as often as upstream and follows it hardly farther. If it decided on each new
// sample, it would want more than twice as many replicas.
func TestRolloutIsNoLoad(t *testing.T) {
	all := Cases()
	c := all[slices.IndexFunc(all, func(c *Case) bool { return c.Name == "rollout/13" })]
	ours, theirs := int32(0), int32(0)
	for seed := range uint64(6) {
		_, most := peaks(t, &play{c: c, kubelets: &kubelets[0], side: &plimsoll, seed: seed}, 0)
		_, upstreams := peaks(t, &play{c: c, kubelets: &kubelets[0], side: &upstream, seed: seed}, 0)
		ours, theirs = ours+most, theirs+upstreams
	}
	if t.Logf("%d replicas, upstream %d", ours, theirs); 2*ours > 3*theirs {
		t.Errorf("%d replicas in six plays, upstream %d", ours, theirs)
	}
}

// TestNoiseIsNoSurge: if nothing rises for longer than a second, the surge window never proposes more. With agents,
// single seconds of five times the load are left out: pods get at most twice their request, so that they work for
// several seconds on the requests of one, which three samples of a quarter of a second show.
func TestNoiseIsNoSurge(t *testing.T) {
	isNoise := regexp.MustCompile("^(flash/0.|few/0[0-7])$")
	isSpike := regexp.MustCompile("^flash/0[048]$")
	for _, c := range Cases() {
		if !isNoise.MatchString(c.Name) {
			continue
		}
		for _, k := range []Kubelets{fresh, agents} {
			if k.Agents > 0 && isSpike.MatchString(c.Name) {
				continue
			}
			p := &play{c: c, kubelets: &k, side: &plimsoll, seed: 1}
			p.decided = func(at time.Duration, _ *horizontal.Observation, d *horizontal.Decision) {
				if d.Surge.Proposes() {
					t.Errorf("%s, %s: the surge window asks for %d after %v", c.Name, k.Name, d.Surge.Replicas, at)
				}
			}
			if _, err := p.run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSurgeWindowPays: where the load rises to three times what it was, nine tenths of the pods that it takes are
// wanted within half the time.
func TestSurgeWindowPays(t *testing.T) {
	const factor = 3
	c := tenPods()
	c.Load = join(flat(60, 5), flat(120, 5*factor))
	near := func(side *Side) (at time.Duration) {
		p := &play{c: c, kubelets: &fresh, side: side, seed: 1}
		p.decided = func(now time.Duration, _ *horizontal.Observation, d *horizontal.Decision) {
			if at == 0 && d.Desired >= 9*factor {
				at = now
			}
		}
		if _, err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return at - time.Minute
	}
	if with, without := near(&plimsoll), near(&withoutSurgeWindow); with > without/2 || with < 0 {
		t.Errorf("nine tenths after %v, without the surge window after %v", with, without)
	}
}
