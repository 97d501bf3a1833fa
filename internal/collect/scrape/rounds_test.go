package scrape_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
)

// fleet has kubelets that take some time to respond, and records the times of their scrapes.
type fleet struct {
	// mu guards the following.
	mu       sync.Mutex
	took     time.Duration
	cost     map[string]time.Duration // of CPU, "" for all others
	slow     map[string]time.Duration // takes this long instead of took
	hangs    map[string]bool          // until timeout
	timeout  time.Duration
	broken   map[string]error
	started  map[string][]time.Time
	order    []string
	address  map[string]string
	running  int
	busiest  int
	atOnce   map[string]int
	forgot   []string
	changed  []scrape.State[kubelet.Target]
	parallel bool // two scrapes of one node ran at the same time
	ended    bool // a scrape began with a context that had ended
}

func newFleet(took time.Duration) *fleet {
	return &fleet{
		took: took, slow: map[string]time.Duration{}, hangs: map[string]bool{}, timeout: 5 * time.Second,
		broken: map[string]error{}, started: map[string][]time.Time{},
		address: map[string]string{}, atOnce: map[string]int{},
	}
}

func (f *fleet) scrape(ctx context.Context, target kubelet.Target) (time.Duration, error) {
	f.mu.Lock()
	f.started[target.Node] = append(f.started[target.Node], time.Now())
	f.order = append(f.order, target.Node)
	f.address[target.Node] = target.Address
	f.running++
	f.busiest = max(f.busiest, f.running)
	f.atOnce[target.Node]++
	f.parallel = f.parallel || f.atOnce[target.Node] > 1
	f.ended = f.ended || ctx.Err() != nil
	took, err := f.took, f.broken[target.Node]
	cost, ok := f.cost[target.Node]
	if !ok {
		cost = f.cost[""]
	}
	if slow, isSlow := f.slow[target.Node]; isSlow {
		took = slow
	}
	if f.hangs[target.Node] {
		took, err = f.timeout, context.DeadlineExceeded
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.atOnce[target.Node]--
		f.mu.Unlock()
	}()
	select {
	case <-time.After(took):
		return cost, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// change changes the fleet under its lock.
func (f *fleet) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// reset clears the records.
func (f *fleet) reset() {
	f.change(func() { f.started, f.order, f.busiest = map[string][]time.Time{}, nil, 0 })
}

func targets(n int) []kubelet.Target {
	all := make([]kubelet.Target, n)
	for i := range all {
		all[i] = kubelet.Target{Node: fmt.Sprintf("node-%03d", i), Address: "10.0.0.1:10250"}
	}
	return all
}

// begin runs rounds inside a bubble of virtual time, until the test ends.
func begin(t *testing.T, f *fleet, config scrape.Config[kubelet.Target]) *scrape.Rounds[kubelet.Target] {
	t.Helper()
	config.Scrape = f.scrape
	config.Forget = func(target kubelet.Target) {
		f.change(func() { f.forgot = append(f.forgot, target.Node) })
	}
	config.Changed = func(s scrape.State[kubelet.Target]) { f.change(func() { f.changed = append(f.changed, s) }) }
	r, err := scrape.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if f.running > 0 {
			t.Errorf("%d scrapes outlived Run", f.running)
		}
	})
	return r
}

// pass lets virtual time pass, and all that happens in it.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// gaps returns the times between the scrapes of a node.
func (f *fleet) gaps(node string) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []time.Duration
	for i := 1; i < len(f.started[node]); i++ {
		all = append(all, f.started[node][i].Sub(f.started[node][i-1]))
	}
	return all
}

// untilRunning waits until some node is being scraped.
func (f *fleet) untilRunning(t *testing.T) {
	t.Helper()
	for range 6000 {
		running := 0
		f.change(func() { running = f.running })
		if running > 0 {
			return
		}
		pass(10 * time.Millisecond)
	}
	t.Fatal("nobody is asked")
}

func TestEachNodeOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(20 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Set(targets(100))
		pass(30 * time.Second)
		perTenth := map[int]int{}
		for _, target := range targets(100) {
			gaps := f.gaps(target.Node)
			if len(gaps) < 28 {
				t.Fatalf("%s: %d scrapes", target.Node, len(gaps)+1)
			}
			for _, gap := range gaps {
				if gap != time.Second {
					t.Fatalf("%s: %v", target.Node, gaps)
				}
			}
			perTenth[f.started[target.Node][5].Nanosecond()/1e8]++
		}
		for tenth := range 10 {
			if n := perTenth[tenth]; n < 2 || n > 20 {
				t.Errorf("%d of 100 nodes in the tenth %d of the period", n, tenth)
			}
		}
		if totals := r.Totals(); totals.Scrapes < 2900 || totals.Failures > 0 {
			t.Errorf("%+v", totals)
		}
		if f.parallel {
			t.Error("a node was asked twice at a time")
		}
	})
}

// TestStretch: some nodes' periods become three times as long. Their scrapes are spread over all of it, and the others'
// are on time although the budget suffices for no more.
func TestStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Millisecond)
		var stretch atomic.Int64
		stretch.Store(1)
		isLong := func(node string) bool { return node >= "node-050" }
		r := begin(t, f, scrape.Config[kubelet.Target]{
			MaxPerSecond: 140,
			Stretch: func(target kubelet.Target) float64 {
				if isLong(target.Node) {
					return float64(stretch.Load())
				}
				return 1
			},
		})
		r.Set(targets(200))
		pass(10 * time.Second)
		stretch.Store(3)
		pass(5 * time.Second)
		f.reset()
		pass(30 * time.Second)
		for _, target := range targets(200) {
			want := time.Second
			if isLong(target.Node) {
				want = 3 * time.Second
			}
			for _, gap := range f.gaps(target.Node) {
				if gap < want-300*time.Millisecond || gap > want+300*time.Millisecond {
					t.Fatalf("%s: %v", target.Node, f.gaps(target.Node))
				}
			}
		}
	})
}

// TestBudget: with less budget than nodes, intervals stretch, for all alike.
func TestBudget(t *testing.T) {
	for name, config := range map[string]scrape.Config[kubelet.Target]{
		"10 a second for 100 nodes":   {MaxPerSecond: 10, MaxConcurrent: 100},
		"10 at a time, a second each": {MaxPerSecond: 1000, MaxConcurrent: 10, SlowAfter: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(time.Second)
				r := begin(t, f, config)
				r.Set(targets(100))
				pass(100 * time.Second)
				if n := r.Totals().Scrapes; n < 980 || n > 1002 {
					t.Errorf("%d scrapes in 100 s", n)
				}
				if f.busiest > config.MaxConcurrent {
					t.Errorf("%d at a time", f.busiest)
				}
				for _, target := range targets(100) {
					for _, gap := range f.gaps(target.Node) {
						if gap < 9*time.Second || gap > 11*time.Second {
							t.Fatalf("%s: %v", target.Node, f.gaps(target.Node))
						}
					}
				}
			})
		})
	}
}

// TestCPUBudget: with less CPU than the nodes cost, intervals stretch for all alike, and the CPU that is used is the
// bound, whatever the estimates were.
func TestCPUBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		cost     map[string]time.Duration
		gap      time.Duration
		heldByIt bool
	}{
		"enough":        {map[string]time.Duration{"": 500 * time.Microsecond}, time.Second, false},
		"a tenth of it": {map[string]time.Duration{"": 10 * time.Millisecond}, 10 * time.Second, true},
		"one is a great one": {map[string]time.Duration{"": 5 * time.Millisecond, "node-007": 505 * time.Millisecond},
			10 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(time.Millisecond)
				f.cost = tt.cost
				r := begin(t, f, scrape.Config[kubelet.Target]{MaxCPU: 0.1})
				r.Set(targets(100))
				pass(60 * time.Second)
				f.reset()
				before := r.Totals()
				pass(100 * time.Second)
				after := r.Totals()
				if spent := after.CPU - before.CPU; spent > 10*time.Second+600*time.Millisecond {
					t.Errorf("%s of CPU in 100 s", spent)
				}
				for _, target := range targets(100) {
					for _, gap := range f.gaps(target.Node) {
						if gap < tt.gap*9/10 || gap > tt.gap*11/10 {
							t.Fatalf("%s: %v", target.Node, f.gaps(target.Node))
						}
					}
				}
				held := after.Held[scrape.ByCPU] - before.Held[scrape.ByCPU]
				if (held > 0) != tt.heldByIt || after.Held[scrape.ByScrapes]+after.Held[scrape.ByConcurrency] > 0 {
					t.Errorf("held back: %v", after.Held)
				}
				if tt.heldByIt && held < (after.Scrapes-before.Scrapes)*9/10 {
					t.Errorf("%d of %d held back", held, after.Scrapes-before.Scrapes)
				}
			})
		})
	}
}

// TestUrgentWithinCPU: urgent nodes go first within the bound on CPU, too.
func TestUrgentWithinCPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Millisecond)
		f.cost = map[string]time.Duration{"": 10 * time.Millisecond}
		r := begin(t, f, scrape.Config[kubelet.Target]{MaxCPU: 0.1})
		r.Set(targets(100))
		pass(20 * time.Second)
		f.reset()
		before := r.Totals().CPU
		for range 20 {
			r.Urgent("node-007", "node-008")
			pass(time.Second)
		}
		for _, node := range []string{"node-007", "node-008"} {
			if n := len(f.started[node]); n < 19 || n > 22 {
				t.Errorf("%s: %d scrapes in 20 s", node, n)
			}
		}
		if spent := r.Totals().CPU - before; spent > 2100*time.Millisecond {
			t.Errorf("%s of CPU in 20 s", spent)
		}
	})
}

// TestDelayingBound: Totals has the bound that stretches the intervals.
func TestDelayingBound(t *testing.T) {
	for name, tt := range map[string]struct {
		config scrape.Config[kubelet.Target]
		want   scrape.Bound
	}{
		"scrapes":     {scrape.Config[kubelet.Target]{MaxPerSecond: 10}, scrape.ByScrapes},
		"concurrency": {scrape.Config[kubelet.Target]{MaxConcurrent: 1}, scrape.ByConcurrency},
		"cpu":         {scrape.Config[kubelet.Target]{MaxCPU: 0.01}, scrape.ByCPU},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(100 * time.Millisecond)
				f.cost = map[string]time.Duration{"": time.Millisecond}
				r := begin(t, f, tt.config)
				r.Set(targets(100))
				pass(time.Minute)
				held := r.Totals().Held
				for bound := range scrape.Bounds {
					if (held[bound] > 0) != (bound == tt.want) {
						t.Errorf("%s: %d held back", bound, held[bound])
					}
				}
				if tt.want.String() != name {
					t.Errorf("it is called %s", tt.want)
				}
			})
		})
	}
}

func TestUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{MaxPerSecond: 10})
		all := targets(100)
		r.Set(all)
		pass(20 * time.Second)
		f.reset()

		// A node that is urgent every second is scraped every second, though the others take 10.
		for range 20 {
			r.Urgent("node-007", "node-008", "nobody")
			pass(time.Second)
		}
		for _, node := range []string{"node-007", "node-008"} {
			if n := len(f.started[node]); n < 19 || n > 22 {
				t.Errorf("%s: %d scrapes in 20 s", node, n)
			}
		}
		if n := len(f.order); n > 202 {
			t.Errorf("%d scrapes in 20 s, beyond the budget", n)
		}
		// Repeated calls do not scrape the kubelet more often than UrgentGap allows.
		f.reset()
		for range 100 {
			r.Urgent("node-007")
			pass(10 * time.Millisecond)
		}
		if n := len(f.started["node-007"]); n < 4 || n > 6 {
			t.Errorf("%d urgent scrapes in a second, each at least 200 ms after the one before", n)
		}
	})
}

// TestUrgentStarvesNobody: when urgent nodes need the whole budget, others that have waited for long take turns with
// them.
func TestUrgentStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{MaxPerSecond: 10})
		all := targets(60)
		r.Set(all)
		for range 600 {
			for _, target := range all[:10] {
				r.Urgent(target.Node)
			}
			pass(100 * time.Millisecond)
		}
		for _, target := range all {
			gaps := f.gaps(target.Node)
			if len(gaps) < 2 || slices.Max(gaps) > 25*time.Second {
				t.Errorf("%s: %v", target.Node, gaps)
			}
		}
		if urgent, other := len(f.started["node-000"]), len(f.started["node-030"]); urgent < 5*other {
			t.Errorf("%d scrapes of an urgent node, %d of another", urgent, other)
		}
	})
}

// withFailure runs three nodes of which node-001 fails from the sixth second on.
func withFailure(t *testing.T, then func(f *fleet, r *scrape.Rounds[kubelet.Target], wrong error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Set(targets(3))
		pass(5 * time.Second)
		wrong := errors.New("no route to host")
		f.change(func() { f.broken["node-001"] = wrong })
		f.reset()
		then(f, r, wrong)
	})
}

// TestBackoff: pauses double up to a bound, whether the node is urgent or not.
func TestBackoff(t *testing.T) {
	withFailure(t, func(f *fleet, r *scrape.Rounds[kubelet.Target], _ error) {
		pass(3 * time.Minute)
		gaps := f.gaps("node-001")
		if len(gaps) < 8 {
			t.Fatalf("pauses of %v", gaps)
		}
		for i, gap := range gaps {
			want := min(2*time.Second<<i, 30*time.Second)
			if gap < want*9/10-20*time.Millisecond || gap > want*11/10+20*time.Millisecond {
				t.Errorf("pause %d is %s, want about %s", i, gap, want)
			}
		}
		f.reset()
		for range 20 {
			r.Urgent("node-001")
			pass(time.Second)
		}
		if n := len(f.started["node-001"]); n > 1 {
			t.Errorf("%d scrapes of a failing node within 20 s", n)
		}
	})
}

// TestState: the error of a target, since when it fails, and that it works again.
func TestState(t *testing.T) {
	withFailure(t, func(f *fleet, r *scrape.Rounds[kubelet.Target], wrong error) {
		broke := time.Now()
		pass(3 * time.Minute)
		state, ok := r.State("node-001")
		if !ok || !state.IsFailing() || !errors.Is(state.LastError, wrong) || state.Failures != len(f.started["node-001"]) {
			t.Errorf("%+v", state)
		}
		if state.FailingSince.Sub(broke) > 2*time.Second || !state.Succeeded.Before(broke.Add(time.Second)) {
			t.Errorf("%+v, broken at %s", state, broke)
		}
		f.change(func() { delete(f.broken, "node-001") })
		pass(time.Minute)
		if state, _ := r.State("node-001"); state.IsFailing() || state.LastError != nil ||
			time.Since(state.Succeeded) > 2*time.Second {
			t.Errorf("%+v", state)
		}
		if len(f.changed) != 2 || !f.changed[0].IsFailing() || f.changed[1].IsFailing() ||
			f.changed[0].Target.Node != "node-001" {
			t.Errorf("calls %+v", f.changed)
		}
	})
}

// TestOneFailureIsNotAll: a failing node does not affect the others.
func TestOneFailureIsNotAll(t *testing.T) {
	withFailure(t, func(f *fleet, r *scrape.Rounds[kubelet.Target], _ error) {
		pass(3 * time.Minute)
		if healthy, ok := r.State("node-000"); !ok || healthy.IsFailing() || time.Since(healthy.Succeeded) > 2*time.Second {
			t.Errorf("%+v", healthy)
		}
		if n := len(f.gaps("node-000")); n < 178 {
			t.Errorf("%d scrapes in 3 minutes", n+1)
		}
		if totals := r.Totals(); totals.Failures == 0 || totals.Failures >= totals.Scrapes {
			t.Errorf("%+v", totals)
		}
	})
}

// TestPartition: nodes that hang cost the others little, and in the long run next to nothing.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{MaxConcurrent: 16})
		all := targets(100)
		r.Set(all)
		pass(5 * time.Second)
		f.change(func() {
			for _, target := range all[:50] {
				f.hangs[target.Node] = true
			}
		})
		// Each hangs once with all slots open to it; from then on they share four.
		f.reset()
		pass(3 * time.Minute)
		for _, target := range all[50:] {
			gaps := f.gaps(target.Node)
			if len(gaps) < 175 || slices.Max(gaps) > 2*time.Second {
				t.Errorf("%s beside nodes that hang: %v", target.Node, gaps)
			}
		}
		for _, target := range all[:50] {
			if len(f.started[target.Node]) == 0 {
				t.Errorf("%s was given up", target.Node)
			}
		}
		if f.ended {
			t.Error("a scrape was cancelled before it began")
		}
	})
}

func TestNodesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(300 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		all := targets(3)
		r.Set(all)
		pass(10 * time.Second)
		all[1].Address = "10.0.0.2:10250"
		r.Set(all[1:])
		if _, ok := r.State("node-000"); ok {
			t.Error("node-000 is still known")
		}
		pass(2 * time.Second)
		f.reset()
		pass(10 * time.Second)
		if len(f.started["node-000"]) > 0 || f.address["node-001"] != "10.0.0.2:10250" || len(f.started["node-001"]) < 9 {
			t.Errorf("%v at %v", f.started, f.address)
		}
		slices.Sort(f.forgot)
		if !slices.Equal(f.forgot, []string{"node-000"}) {
			t.Errorf("forgot %v", f.forgot)
		}
		// A node that leaves while it is scraped is forgotten at the end of that scrape.
		f.change(func() { f.hangs["node-001"], f.hangs["node-002"] = true, true })
		pass(1500 * time.Millisecond)
		r.Set(all[2:])
		synctest.Wait()
		if len(f.forgot) != 1 || len(r.States(nil)) != 1 {
			t.Errorf("forgot %v too early, or %v", f.forgot, r.States(nil))
		}
		pass(6 * time.Second)
		if !slices.Equal(f.forgot, []string{"node-000", "node-001"}) {
			t.Errorf("forgot %v", f.forgot)
		}
		r.Set(nil)
		pass(time.Minute)
		if n := len(r.States(nil)); n != 0 || len(f.forgot) != 3 {
			t.Errorf("%d nodes left, forgot %v", n, f.forgot)
		}
	})
}

// TestNodeComesBack: a node that leaves and comes back during its scrape has never been away.
func TestNodeComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(600 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Set(targets(1))
		f.untilRunning(t)
		r.Set(nil)
		r.Set(targets(1))
		pass(10 * time.Second)
		if n := len(f.started["node-000"]); n < 10 || len(f.forgot) > 0 || f.parallel {
			t.Errorf("%d scrapes, forgot %v, twice at a time: %v", n, f.forgot, f.parallel)
		}
	})
}

// TestLateNodes: a late scrape is not followed by the next at once.
func TestLateNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{MaxConcurrent: 1, SlowAfter: time.Second})
		all := targets(20)
		r.Set(all)
		pass(3 * time.Second)
		for _, target := range all {
			// One slow response delays all others by most of a period.
			f.change(func() { f.slow[target.Node] = 900 * time.Millisecond })
			pass(time.Second)
			f.change(func() { clear(f.slow) })
			pass(3 * time.Second)
		}
		late := 0
		for _, target := range all {
			gaps := f.gaps(target.Node)
			if slices.Min(gaps) < 500*time.Millisecond {
				t.Errorf("%s: %v", target.Node, gaps)
			}
			if slices.Max(gaps) > 1500*time.Millisecond {
				late++
			}
		}
		if late == 0 {
			t.Error("no target was late")
		}
	})
}

// TestStopsInTheMiddle: Run ends with its context, with scrapes under way.
func TestStopsInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Hour)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Set(targets(10))
		pass(2 * time.Second)
		if f.running != 10 {
			t.Errorf("%d under way", f.running)
		}
	})
}

// TestForgetsAfterTheEnd: removing all targets after the end of Run forgets each once, also those whose scrapes were
// under way when it ended.
func TestForgetsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(10 * time.Millisecond)
		f.slow["node-003"] = time.Hour
		r, err := scrape.New(scrape.Config[kubelet.Target]{
			Scrape: f.scrape, Forget: func(target kubelet.Target) { f.forgot = append(f.forgot, target.Node) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r.Set(targets(5))
		r.Run(ctx)
		r.Set(nil)
		slices.Sort(f.forgot)
		if want := []string{"node-000", "node-001", "node-002", "node-003", "node-004"}; !slices.Equal(f.forgot, want) {
			t.Errorf("forgot %v", f.forgot)
		}
	})
}

// TestRunsOnce: the scrapes of a second Run would begin with contexts that have ended.
func TestRunsOnce(t *testing.T) {
	r, err := scrape.New(scrape.Config[kubelet.Target]{Scrape: newFleet(0).scrape})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Run(ctx)
	defer func() {
		if recover() == nil {
			t.Error("it runs a second time")
		}
	}()
	r.Run(t.Context())
}

func TestConfigIsChecked(t *testing.T) {
	scrapeOne := newFleet(0).scrape
	for name, config := range map[string]scrape.Config[kubelet.Target]{
		"nothing to scrape with": {},
		"a negative period":      {Scrape: scrapeOne, Period: -1},
		"slow before it began":   {Scrape: scrapeOne, SlowAfter: -1},
		"a negative budget":      {Scrape: scrapeOne, MaxPerSecond: -1},
		"negative CPU":           {Scrape: scrapeOne, MaxCPU: -1},
		"negative slots":         {Scrape: scrapeOne, MaxConcurrent: -1},
		"a short backoff":        {Scrape: scrapeOne, Period: time.Minute, MaxBackoff: time.Second},
	} {
		if _, err := scrape.New(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := scrape.New(scrape.Config[kubelet.Target]{Scrape: scrapeOne, Period: time.Hour}); err != nil {
		t.Errorf("a long period: %v", err)
	}
}

// TestTargetsOneByOne: added targets are scraped at once, removed ones no longer, and a failing one is scraped at once
// after Retry.
func TestTargetsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Millisecond)
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		all := targets(3)
		r.Add(all...)
		synctest.Wait()
		if n := f.count(""); n != 3 {
			t.Errorf("%d of 3 are scraped at once", n)
		}
		pass(5 * time.Second)
		r.Add(all[0]) // again
		f.reset()
		pass(5 * time.Second)
		if n := f.count("node-000"); n != 5 {
			t.Errorf("%d scrapes in 5 s", n)
		}
		r.Remove("node-001", "node-007")
		pass(time.Second)
		f.reset()
		pass(5 * time.Second)
		if gone, left := f.count("node-001"), f.count("node-002"); gone > 0 || left != 5 {
			t.Errorf("%d scrapes of one that is gone, %d of another", gone, left)
		}
		f.change(func() {
			if len(f.forgot) != 1 {
				t.Errorf("forgot %v", f.forgot)
			}
		})
		f.change(func() { f.broken["node-000"] = errors.New("not yet") })
		pass(40 * time.Second)
		f.change(func() { delete(f.broken, "node-000") })
		f.reset()
		r.Retry("node-000", "node-002", "node-007")
		pass(10 * time.Millisecond)
		if state, _ := r.State("node-000"); f.count("node-000") != 1 || state.IsFailing() {
			t.Errorf("%d scrapes, %+v", f.count("node-000"), state)
		}
		if n := f.count("node-002"); n > 1 {
			t.Errorf("%d scrapes of one that does not fail", n)
		}
	})
}

// count returns the number of scrapes of a target; of all without a name.
func (f *fleet) count(name string) (n int) {
	f.change(func() {
		if n = len(f.started[name]); name == "" {
			n = len(f.order)
		}
	})
	return n
}

// TestRetryDuringScrape: the cause of a failure may be fixed while the scrape is under way. The scrape is repeated once
// then, and after that at the usual times.
func TestRetryDuringScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(100 * time.Millisecond)
		f.broken["node-000"] = errors.New("no Secret")
		r := begin(t, f, scrape.Config[kubelet.Target]{})
		r.Add(targets(1)...)
		pass(50 * time.Millisecond)
		r.Retry("node-000")
		pass(time.Second)
		if n := f.count("node-000"); n != 2 {
			t.Errorf("%d scrapes", n)
		}
	})
}

// The address of a target may change at any time: each scrape has one of the two, never parts of both. With -race this
// also shows that scrapes read nothing that Set writes.
func TestAddressChangesDuringScrapes(t *testing.T) {
	addresses := [...]string{"10.0.0.1:1", "10.100.100.100:10250"}
	var scrapes, torn atomic.Int64
	r, err := scrape.New(scrape.Config[kubelet.Target]{
		Scrape: func(_ context.Context, target kubelet.Target) (time.Duration, error) {
			scrapes.Add(1)
			if !slices.Contains(addresses[:], target.Address) {
				torn.Add(1)
			}
			return 0, nil
		},
		Period: 50 * time.Microsecond, MaxPerSecond: 1e6, MaxCPU: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	for deadline := time.Now().Add(10 * time.Second); scrapes.Load() < 300 && time.Now().Before(deadline); {
		for _, address := range addresses {
			r.Set([]kubelet.Target{{Node: "a", Address: address}})
		}
	}
	cancel()
	running.Wait()
	if scrapes.Load() == 0 || torn.Load() > 0 {
		t.Errorf("%d of %d scrapes had an address that is none", torn.Load(), scrapes.Load())
	}
}

// BenchmarkRounds measures one scrape without the request, among 1000 nodes that are all due.
func BenchmarkRounds(b *testing.B) {
	scraped := make(chan struct{}, 1024)
	r, err := scrape.New(scrape.Config[kubelet.Target]{
		Period: time.Millisecond, MaxPerSecond: 1e9, MaxCPU: 1e3, MaxBackoff: time.Second,
		Scrape: func(ctx context.Context, _ kubelet.Target) (time.Duration, error) {
			select {
			case scraped <- struct{}{}:
			case <-ctx.Done():
			}
			return 0, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	r.Add(targets(1000)...)
	running.Go(func() { r.Run(ctx) })
	for range 2000 {
		<-scraped
	}
	b.ReportAllocs()
	for b.Loop() {
		<-scraped
	}
}
