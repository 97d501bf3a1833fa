package podusage

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// loop is one of two that need samples of nodes.
type loop struct {
	*Subscription
	nodes []string
	moved chan struct{}
	stop  func()
	// sampled counts the calls of Sampled for each node.
	sampled map[string]int
}

// loops returns the horizontal and the vertical loop of a process: one needs samples each second, the other every ten
// seconds.
func loops(w *world, change ...func(*Config)) (fast, slow *loop) {
	nodes := w.service(change...)
	fast = &loop{Subscription: nodes.Subscribe(Cadence{})}
	slow = &loop{Subscription: nodes.Subscribe(Cadence{Kubelets: 10 * time.Second, Agents: time.Second})}
	for _, l := range []*loop{fast, slow} {
		l.moved, l.sampled = make(chan struct{}, 1), map[string]int{}
		l.run(w)
	}
	return fast, slow
}

// run runs the loop until stop is called, or the test ends.
func (l *loop) run(w *world) {
	l.stop = w.run(l.Subscription, Watch{
		Nodes: func(dst []string) []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return append(dst, l.nodes...)
		},
		Moved:   l.moved,
		Sampled: func(of Sampled) { w.set(func() { l.sampled[of.Node]++ }) },
	})
}

// want sets the loop's nodes.
func (l *loop) want(w *world, nodes ...string) {
	w.set(func() { l.nodes = nodes })
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// reads expects a sample of a pod.
func (l *loop) reads(t *testing.T, name, node string) {
	t.Helper()
	var v View
	err := l.Latest(time.Now(), observe.PodsOf([]*corev1.Pod{pod(name, node)}), &v)
	if err != nil || v.Sample(0, cpuOfPod, arithmetic.Saturate).Milli != 200 {
		t.Errorf("%s on node %s: %+v, %v", name, node, v.Sample(0, cpuOfPod, arithmetic.Saturate), err)
	}
}

// inAMinute expects this number of scrapes of each node.
func (w *world) inAMinute(want map[string]int) {
	w.t.Helper()
	w.set(func() { clear(w.scrapes) })
	pass(time.Minute)
	if !maps.Equal(w.scrapes, want) {
		w.t.Errorf("in a minute %v scrapes, want %v", w.scrapes, want)
	}
}

// TestTwoLoops: a node that both loops want is scraped once, at the period of the faster one. A node that only the
// slower one wants is scraped at the period of that.
func TestTwoLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		w.node("c", 100, "web-2")
		fast, slow := loops(w)
		slow.want(w, "a", "b")
		fast.want(w, "a", "c")
		pass(40 * time.Second)
		w.set(func() { clear(fast.sampled); clear(slow.sampled) })
		w.inAMinute(map[string]int{"a": 60, "b": 6, "c": 60})
		if !maps.Equal(fast.sampled, map[string]int{"a": 60, "c": 60}) ||
			!maps.Equal(slow.sampled, map[string]int{"a": 60, "b": 6}) {
			t.Errorf("the loops were called for %v and %v", fast.sampled, slow.sampled)
		}
		fast.reads(t, "web-0", "a")
		slow.reads(t, "web-0", "a")
		slow.reads(t, "web-1", "b")
		if n := len(slow.Targets()); n != 2 {
			t.Errorf("the slower loop has %d targets", n)
		}
		// A pod of the faster loop moves to a node of the slower one.
		fast.want(w, "a", "b", "c")
		w.set(func() { clear(w.scrapes) })
		pass(1200 * time.Millisecond)
		if w.scrapes["b"] == 0 {
			t.Error("a node that is needed more often was not scraped for a second")
		}
		w.inAMinute(map[string]int{"a": 60, "b": 60, "c": 60})
		fast.stop()
		pass(15 * time.Second)
		w.inAMinute(map[string]int{"a": 6, "b": 6})
		slow.reads(t, "web-0", "a")
		slow.stop()
		w.inAMinute(nil)
	})
}

// TestNodeFailsForTwoLoops: the slower loop uses the samples that it has for as long as it would without the faster
// one, and a node that fails costs the others nothing.
func TestNodeFailsForTwoLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		fast, slow := loops(w)
		slow.want(w, "a", "b")
		fast.want(w, "a", "b")
		pass(40 * time.Second)
		refused := errors.New("connection refused")
		w.set(func() { w.broken["a"] = refused })
		pass(8 * time.Second)
		var v View
		pods := observe.PodsOf([]*corev1.Pod{pod("web-0", "a")})
		if err := fast.Latest(time.Now(), pods, &v); !errors.Is(err, refused) {
			t.Errorf("the faster loop: %v", err)
		}
		slow.reads(t, "web-0", "a")
		fast.reads(t, "web-1", "b")
		w.set(func() { clear(w.scrapes) })
		pass(time.Minute)
		if n := w.scrapes["b"]; n != 60 {
			t.Errorf("in a minute %d scrapes of the other node", n)
		}
		if err := slow.Latest(time.Now(), pods, &v); !errors.Is(err, refused) {
			t.Errorf("the slower loop: %v", err)
		}
	})
}

// TestNodeIsRetriedForTheFasterLoop: after a node failed while only the slower loop wanted it, the faster one gets a
// scrape at once, before the slower loop's next turn.
func TestNodeIsRetriedForTheFasterLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.set(func() { w.broken["a"] = errors.New("connection refused") })
		fast, slow := loops(w)
		slow.want(w, "a")
		pass(2 * time.Minute)
		w.set(func() { clear(w.broken); clear(w.scrapes) })
		fast.want(w, "a")
		pass(1200 * time.Millisecond)
		if w.scrapes["a"] == 0 {
			t.Error("it was not scraped for a second")
		}
	})
}

// TestAgentOfTwoLoops: each loop requests only its own pods from an agent, at its own period.
func TestAgentOfTwoLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		fast, slow := loops(c.world, c.configure())
		few, many := []*observe.Pod{podOf("web-0")}, []*observe.Pod{podOf("web-0"), podOf("web-1"), podOf("web-2")}
		fast.want(c.world, "a")
		slow.want(c.world, "a")
		fast.Set(web, few)
		slow.Set(observe.VPA(web.NamespacedName), many)
		pass(30 * time.Second)
		c.set(func() { clear(c.requests) })
		pass(20 * time.Second)
		if c.requests[2] != 80 || c.requests[6] != 20 || len(c.requests) != 2 {
			t.Errorf("requests by the number of containers: %v", c.requests)
		}
		age(t, fast.Subscription, few)
		for l, pods := range map[*loop][]*observe.Pod{fast: few, slow: many} {
			var v View
			if err := l.Latest(time.Now(), pods, &v); err != nil || v.Origins(time.Now(), pods).AgentPods != len(pods) {
				t.Errorf("%+v: %v", v.Origins(time.Now(), pods), err)
			}
		}
		if n := testutil.ToFloat64(fast.service.metrics.agents); n != 1 {
			t.Errorf("%v nodes with agents", n)
		}
	})
}

// TestEverythingAtOnce: loops read and edit while nodes come and go, agents and kubelets fail, permissions are taken away,
// and loops end and begin again. Nothing panics or hangs, no goroutine outlives the loops, and what is left is that of the
// last set.
func TestEverythingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.world.node("b", 100, "web-1")
		fast, slow := loops(c.world, c.configure(), func(config *Config) {
			config.Access = func(context.Context) (string, error) {
				c.world.mu.Lock()
				defer c.world.mu.Unlock()
				return c.world.missing, nil
			}
		})
		random := rand.New(rand.NewPCG(1, 2))
		some := func(all ...string) []string {
			return slices.DeleteFunc(all, func(string) bool { return random.IntN(3) == 0 })
		}
		pods := []*observe.Pod{podOf("web-0"), podOf("web-1"), podOf("web-2")}
		ended := make(chan struct{})
		var users sync.WaitGroup
		for _, l := range []*loop{fast, slow} {
			users.Go(func() { l.use(t, ended, pods) })
		}
		for range 300 {
			pass(2 * time.Second)
			l, failure := []*loop{fast, slow}[random.IntN(2)], map[bool]error{true: errors.New("connection refused")}
			switch random.IntN(6) {
			case 0:
				l.want(c.world, some("a", "b", "gone")...)
			case 1:
				l.stop()
				l.run(c.world)
			case 2:
				c.world.set(func() { c.world.missing = map[bool]string{true: "list nodes"}[random.IntN(3) == 0] })
			case 3:
				c.set(func() { c.agents["a"] = failure[random.IntN(2) == 0] })
			case 4:
				c.set(func() { c.kubeletFailure = failure[random.IntN(3) == 0] })
			case 5:
				l.Set(web, pods[:random.IntN(len(pods)+1)])
			}
		}
		close(ended)
		users.Wait()
		fast.stop()
		slow.stop()
		for _, l := range []*loop{fast, slow} {
			l.Forget(web)
			if l.Forget(observe.VPA(web.NamespacedName)); len(l.wanted.nodes) > 0 {
				t.Errorf("pods of %d nodes are wanted", len(l.wanted.nodes))
			}
		}
	})
}

// use calls all methods until ended is closed.
func (l *loop) use(t *testing.T, ended <-chan struct{}, pods []*observe.Pod) {
	var v View
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		case <-time.After(70 * time.Millisecond):
		}
		now, some := time.Now(), pods[:1+n%len(pods)]
		l.Set(observe.VPA(web.NamespacedName), some)
		_ = l.Latest(now, some, &v) // Most of the time something is wrong.
		l.ReportMissing(now, some, &v)
		v.Origins(now, some)
		l.Prefer(n%2 == 0, "a", "b", "gone")
		l.Targets()
		_, _, _ = l.Contention(t.Context(), "a")
	}
}
