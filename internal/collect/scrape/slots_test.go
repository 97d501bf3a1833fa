package scrape_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
)

// zones are the nodes of two zones, of which the first goes dark at began.
type zones struct {
	fleet         *fleet
	dark, healthy []kubelet.Target
	began         time.Time
}

// mostAtATime is 64 scrapes, three times as many slow ones, and those that were just cancelled and have not ended.
const mostAtATime = 5 * scrape.DefaultMaxConcurrent

// goDark runs nodes in two zones. Connections to the nodes of one hang until timeout.
func goDark(t *testing.T, f *fleet, nodes, dark int, timeout time.Duration) (*zones, *scrape.Rounds[kubelet.Target]) {
	t.Helper()
	f.timeout = timeout
	return goDarkWith(t, f, scrape.Config[kubelet.Target]{}, nodes, dark)
}

func goDarkWith(
	t *testing.T, f *fleet, config scrape.Config[kubelet.Target], nodes, dark int,
) (*zones, *scrape.Rounds[kubelet.Target]) {
	t.Helper()
	r := begin(t, f, config)
	all := targets(nodes)
	z := &zones{fleet: f, dark: all[:dark], healthy: all[dark:]}
	r.Set(all)
	pass(20 * time.Second)
	f.reset()
	z.began = time.Now()
	f.change(func() {
		for _, target := range z.dark {
			f.hangs[target.Node] = true
		}
	})
	return z, r
}

// silence returns the longest time without the start of a scrape of a healthy node.
func (z *zones) silence() (longest time.Duration) {
	now := time.Now()
	z.fleet.change(func() {
		for _, target := range z.healthy {
			last := z.began
			for _, at := range append(z.fleet.started[target.Node], now) {
				longest, last = max(longest, at.Sub(last)), at
			}
		}
	})
	return longest
}

// TestDarkZone: the nodes of a zone that stops responding do not delay others, from the first moment on, and are tried
// again.
func TestDarkZone(t *testing.T) {
	for _, tt := range []struct {
		nodes, dark int
		timeout     time.Duration
		atMost      time.Duration
	}{
		{90, 30, 3 * time.Second, time.Second},
		{300, 100, 3 * time.Second, 1300 * time.Millisecond},
		{1000, 333, 3 * time.Second, 2 * time.Second},
		{1000, 333, 5 * time.Second, 2 * time.Second},
		{1000, 60, 3 * time.Second, 1200 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d of %d, %s each", tt.dark, tt.nodes, tt.timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(5 * time.Millisecond)
				z, _ := goDark(t, f, tt.nodes, tt.dark, tt.timeout)
				pass(3 * time.Minute)
				if silence := z.silence(); silence > tt.atMost {
					t.Errorf("a healthy node was not scraped for %s, want at most %s", silence, tt.atMost)
				}
				if f.busiest > mostAtATime {
					t.Errorf("%d scrapes at a time", f.busiest)
				}
				for _, target := range z.dark {
					if len(f.started[target.Node]) < 2 {
						t.Errorf("%s was scraped %d times", target.Node, len(f.started[target.Node]))
					}
				}
			})
		})
	}
}

// TestSlowNodesBesideADarkZone: nodes that respond late are read all the time, and do not begin to fail.
func TestSlowNodesBesideADarkZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(5 * time.Millisecond)
		for _, target := range targets(1000)[900:] {
			f.slow[target.Node] = 700 * time.Millisecond
		}
		z, r := goDark(t, f, 1000, 333, 5*time.Second)
		f.change(func() { f.changed = nil })
		pass(90 * time.Second)
		if silence := z.silence(); silence > 3*time.Second {
			t.Errorf("a healthy node was not scraped for %s", silence)
		}
		if len(f.changed) != 333 {
			t.Errorf("%d nodes began or ceased to fail, want the 333 dark ones", len(f.changed))
		}
		for _, target := range z.healthy {
			if state, _ := r.State(target.Node); time.Since(state.Succeeded) > 3*time.Second {
				t.Errorf("%s answered %s ago", target.Node, time.Since(state.Succeeded))
			}
		}
	})
}

// TestFewSlowNodesDoNotPreventCancelling: a few nodes that are always very slow do not count as most nodes.
func TestFewSlowNodesDoNotPreventCancelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(5 * time.Millisecond)
		for _, target := range targets(1000)[900:] {
			f.slow[target.Node] = 700 * time.Millisecond
		}
		config := scrape.Config[kubelet.Target]{SlowAfter: 50 * time.Millisecond}
		z, _ := goDarkWith(t, f, config, 1000, 333)
		pass(time.Minute)
		if silence := z.silence(); silence > 3*time.Second {
			t.Errorf("a healthy node was not scraped for %s", silence)
		}
	})
}

// TestAllScrapesAreSlow: where all take long, none is cancelled for another: otherwise none would succeed.
func TestAllScrapesAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(5 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Set(targets(1000))
		pass(20 * time.Second)
		f.change(func() { f.took = 2 * time.Second })
		pass(time.Minute)
		before := r.Totals()
		pass(20 * time.Second)
		after := r.Totals()
		if failed := after.Failures - before.Failures; failed > 0 {
			t.Errorf("%d scrapes failed", failed)
		}
		// 256 at a time, of 2 s each.
		if n := after.Scrapes - before.Scrapes; n < 2300 || f.busiest > mostAtATime {
			t.Errorf("%d scrapes in 20 s, %d at a time", n, f.busiest)
		}
	})
}

// TestManyNodesAreAlwaysSlow: nodes that always take long, more than there are slots for slow scrapes, are all read,
// and delay the others little.
func TestManyNodesAreAlwaysSlow(t *testing.T) {
	const concurrent = 16
	for _, tt := range []struct {
		nodes, slow int
		took        time.Duration
	}{{250, 75, 2 * time.Second}, {500, 125, 1500 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(20 * time.Millisecond)
			all := targets(tt.nodes)
			r := begin(t, f, scrape.Config[kubelet.Target]{MaxConcurrent: concurrent})
			r.Set(all)
			pass(20 * time.Second)
			f.change(func() {
				for _, target := range all[:tt.slow] {
					f.slow[target.Node] = tt.took
				}
			})
			pass(time.Minute)
			f.reset()
			before := r.Totals()
			for range 60 {
				pass(time.Second)
				for _, target := range all {
					if state, _ := r.State(target.Node); time.Since(state.Succeeded) > 4*time.Second+tt.took {
						t.Fatalf("%s answered %s ago", target.Node, time.Since(state.Succeeded))
					}
				}
			}
			if failed := r.Totals().Failures - before.Failures; failed > 0 {
				t.Errorf("%d scrapes of nodes that answer failed", failed)
			}
			if f.busiest > 5*concurrent {
				t.Errorf("%d scrapes at a time", f.busiest)
			}
		})
	}
}
