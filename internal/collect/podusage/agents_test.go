package podusage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// cluster has nodes whose kubelets have samples every 10 s, as with their defaults, and whose agents have them at once.
// Each container uses 100m.
type cluster struct {
	began    time.Time
	world    *world
	registry *prometheus.Registry

	// mu guards the following.
	mu sync.Mutex
	// agents holds the failure of each node with an agent; nil if it works.
	agents map[string]error
	// asked holds the containers of the last request to each agent, kubelets the number of requests to kubelets.
	asked    map[string]string
	kubelets int
	// kubeletFailure is the failure of the kubelets; nil if they work.
	kubeletFailure error
	// peak is the highest memory of a container, for 3 s of each minute; 0 for none.
	peak int64
	// unknown names a container that agents do not find.
	unknown string
	// housekeeping is the period of the kubelets' samples; 0 for 10 s.
	housekeeping time.Duration
	// requests counts requests to agents by the number of containers in them.
	requests map[int]int
	// forgotten lists the nodes whose agents were forgotten.
	forgotten []string
}

// textOf is the page with the use of a node's containers up to a time.
func (c *cluster) textOf(at time.Time, containers ...selection.Container) []byte {
	node := &kubelettest.Node{}
	for i := range containers {
		node.Pods = append(node.Pods, kubelettest.Pod{Namespace: "shop", Name: containers[i].Pod,
			Containers: []kubelettest.Container{{Name: containers[i].Name, Start: c.began.Add(-time.Hour),
				CPUNanos: int64(at.Sub(c.began.Add(-time.Hour))) / 10, MemoryBytes: c.memoryAt(at)}}})
	}
	return node.Text(at)
}

// memoryAt is a container's memory: the peak falls between two samples of the kubelet.
func (c *cluster) memoryAt(at time.Time) int64 {
	if second := at.Unix() % 60; c.peak > 0 && second >= 3 && second < 6 {
		return c.peak
	}
	return 1 << 20
}

// fromKubelets and fromAgents scrape one or the other.
type (
	fromKubelets struct {
		*cluster
		store *rate.Store
	}
	fromAgents struct {
		*cluster
		store *rate.Store
	}
)

// Scrape implements Scraper.
func (f fromKubelets) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (rate.Round, error) {
	f.mu.Lock()
	f.kubelets++
	failure, period := f.kubeletFailure, f.housekeeping
	f.mu.Unlock()
	if period == 0 {
		period = 10 * time.Second
	}
	if failure != nil {
		return rate.Round{}, failure
	}
	now := time.Now()
	sampled := now.Truncate(period)
	return f.store.Ingest(target.Node, now, f.textOf(sampled, selection.Container{Pod: "web-0", Name: "app"},
		selection.Container{Pod: "web-0", Name: "proxy"}))
}

// Scrape implements AgentScraper.
func (f fromAgents) Scrape(
	_ context.Context, target kubelet.Target, wanted *selection.Prepared,
) (rate.Round, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[target.Node] = string(wanted.Text)
	f.requests[bytes.Count(wanted.Text, []byte("\n"))]++
	if err := f.agents[target.Node]; err != nil {
		if errors.Is(err, errMad) {
			panic(err)
		}
		return rate.Round{}, err
	}
	containers, err := selection.Decode(wanted.Text)
	if err != nil {
		return rate.Round{}, err
	}
	containers = slices.DeleteFunc(containers, func(c selection.Container) bool { return c.Name == f.unknown })
	return f.store.Ingest(target.Node, time.Now(), f.textOf(time.Now(), containers...))
}

// Contention implements AgentScraper.
func (f fromAgents) Contention(_ context.Context, target kubelet.Target, wanted *selection.Prepared) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return wanted.Text, f.agents[target.Node]
}

// Forget implements AgentScraper.
func (f fromAgents) Forget(node string) {
	f.set(func() { f.forgotten = append(f.forgotten, node) })
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// newCluster has node a, with an agent.
func newCluster(t *testing.T) *cluster {
	c := &cluster{began: time.Now(), agents: map[string]error{"a": nil}, asked: map[string]string{}, world: newWorld(t),
		registry: prometheus.NewRegistry(), requests: map[int]int{}}
	c.world.node("a", 0)
	return c
}

// configure makes a service read the cluster.
func (c *cluster) configure(change ...func(*Agents)) func(*Config) {
	return func(config *Config) {
		config.Registerer = c.registry
		config.Scraper = func(store *rate.Store) (Scraper, error) { return fromKubelets{c, store}, nil }
		config.Agents = &Agents{
			Scraper: func(store *rate.Store) (AgentScraper, error) { return fromAgents{c, store}, nil },
			Find: func(node string) (string, bool) {
				c.mu.Lock()
				defer c.mu.Unlock()
				_, found := c.agents[node]
				return "10.1.0.1:8443", found
			},
		}
		for _, apply := range change {
			apply(config.Agents)
		}
	}
}

// podOf is a pod of the containers app and proxy on node a.
func podOf(name string) *observe.Pod {
	p := pod(name, "a")
	p.UID = types.UID("u-" + name[len(name)-1:])
	for _, name := range []string{"app", "proxy"} {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name,
			ContainerID: "containerd://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	translated := observe.PodOf(p)
	translated.Running = observe.RunningOf(p)
	return translated
}

// running reads a cluster with the pod web-0.
func running(t *testing.T, change ...func(*Agents)) (c *cluster, s *Subscription, pods []*observe.Pod) {
	c = newCluster(t)
	s = c.world.start(c.configure(change...))
	c.world.want("a")
	return c, s, []*observe.Pod{podOf("web-0")}
}

// age returns the age of the pod's sample. It fails without one, or with one that lacks a container.
func age(t *testing.T, s *Subscription, pods []*observe.Pod) time.Duration {
	t.Helper()
	var v View
	if err := s.look(time.Now(), pods, &v); err != nil {
		t.Fatalf("%v", err)
	}
	got := v.Sample(0, cpuOfPod, arithmetic.Saturate)
	if !got.Present || got.Milli != 200 || v.Unreadable().Pods != 0 {
		t.Fatalf("CPU %+v, want 200m", got)
	}
	return time.Since(got.At)
}

// settled waits until the agent's samples span an average.
func settled(t *testing.T, s *Subscription, pods []*observe.Pod) {
	t.Helper()
	pass(25 * time.Second)
	for range 40 {
		age(t, s, pods)
		pass(250 * time.Millisecond)
	}
	if a := age(t, s, pods); a > 250*time.Millisecond {
		t.Fatalf("samples are %s old", a)
	}
}

// TestAgentBeforeKubelet: samples come from the agent, four times a second, and its node's kubelet is scraped less
// often.
func TestAgentBeforeKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		settled(t, s, pods)
		c.set(func() { c.kubelets = 0 })
		c.world.set(func() { c.world.sampled = nil })
		for range 40 {
			pass(250 * time.Millisecond)
			if a := age(t, s, pods); a > 250*time.Millisecond {
				t.Errorf("samples are %s old", a)
			}
		}
		if sampled := len(c.world.sampled); c.kubelets < 1 || c.kubelets > 3 || sampled < 39 || sampled > 43 {
			t.Errorf("in 10 s the kubelet was scraped %d times, and there were samples %d times", c.kubelets, sampled)
		}
		wantIntervals(t, s, pods)
		if got := strings.Count(c.asked["a"], "u-0 "); got != 2 || c.world.logged("come from its agent") != 1 {
			t.Errorf("asked for %q, logged %v", c.asked["a"], c.world.logs)
		}
		want := "# HELP plimsoll_agent_nodes Nodes whose samples come from their agents.\n" +
			"# TYPE plimsoll_agent_nodes gauge\nplimsoll_agent_nodes 1\n"
		if err := testutil.GatherAndCompare(c.registry, bytes.NewBufferString(want), "plimsoll_agent_nodes"); err != nil {
			t.Error(err)
		}
	})
}

// wantIntervals expects single intervals of a quarter of a second, a second and another quarter.
func wantIntervals(t *testing.T, s *Subscription, pods []*observe.Pod) {
	t.Helper()
	var v View
	if err := s.look(time.Now(), pods, &v); err != nil {
		t.Fatal(err)
	}
	for k, r := range v.Recent(0, cpuOfPod, arithmetic.Saturate) {
		want := [...]time.Duration{AgentPeriod, time.Second, AgentPeriod}[k]
		if !r.Present || r.Milli != 200 || r.Window != want {
			t.Errorf("interval %d: %+v", k, r)
		}
	}
}

// TestAgentEnds: within 3 s of an agent's end the samples are the kubelet's, without a gap, and the metrics show it.
// When the agent is back, they are the agent's again.
func TestAgentEnds(t *testing.T) {
	for name, failure := range map[string]error{"killed": errors.New("connection refused"), "mad": errMad} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, pods := running(t)
				settled(t, s, pods)
				c.set(func() { c.agents["a"], c.kubelets = failure, 0 })
				for waited := time.Duration(0); waited < 20*time.Second; waited += 100 * time.Millisecond {
					pass(100 * time.Millisecond)
					a := age(t, s, pods)
					// The kubelet's sample of the last ten seconds.
					isKubelets := time.Now().Add(-a).UnixMilli()%10_000 == 0
					if waited >= 3*time.Second && !isKubelets || a > 12*time.Second {
						t.Fatalf("%s after the agent's end a sample is %s old", waited, a)
					}
				}
				wantSilent(t, s, pods, failure)
				if c.kubelets < 15 || c.world.logged("come from its kubelet") != 1 {
					t.Errorf("in 20 s the kubelet was asked %d times, logged %v", c.kubelets, c.world.logs)
				}
				c.set(func() { c.agents["a"] = nil })
				pass(agentBackoff)
				settled(t, s, pods)
				if o := originsOf(t, s, pods); o.AgentPods != 1 || o.KubeletPods != 0 || o.Silent != nil {
					t.Errorf("when the agent is back: %+v", o)
				}
			})
		})
	}
}

// TestAgentReturns: an agent that missed requests, as the pods of its node took all CPU, is used again soon, however
// long it was silent. Without a sample of the last seconds before, its average starts only after some seconds of new
// samples.
func TestAgentReturns(t *testing.T) {
	for _, silent := range []time.Duration{2 * time.Second, 5 * time.Second, 20 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			c, s, pods := running(t)
			settled(t, s, pods)
			c.set(func() { c.agents["a"] = context.DeadlineExceeded })
			for end := time.Now().Add(silent); time.Now().Before(end); pass(250 * time.Millisecond) {
				age(t, s, pods)
			}
			c.set(func() { c.agents["a"], c.asked["a"] = nil, "" })
			isAsked := func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.asked["a"] != ""
			}
			began := time.Now()
			for !isAsked() && time.Since(began) < time.Minute {
				age(t, s, pods)
				pass(50 * time.Millisecond)
			}
			if waited := time.Since(began); waited > agentBackoff+agentBackoff/4 {
				t.Errorf("silent for %s: it was asked again after %s", silent, waited)
			}
			for range 25 {
				originsOf(t, s, pods)
				pass(250 * time.Millisecond)
			}
			if o := originsOf(t, s, pods); o.AgentPods != 1 {
				t.Errorf("silent for %s: some seconds later: %+v", silent, o)
			}
		})
	}
}

// TestBudgetForAgents: with more agents than the budget has room for, an agent that is seldom scraped does not count as
// silent. After a longer time without a scrape its node's kubelet replaces it.
func TestBudgetForAgents(t *testing.T) {
	for perSecond, isAgents := range map[float64]bool{0.4: true, 0.1: false} {
		synctest.Test(t, func(t *testing.T) {
			c, s, pods := running(t, func(a *Agents) { a.Rounds.MaxPerSecond = perSecond })
			pass(25 * time.Second)
			for range 60 {
				age(t, s, pods)
				pass(500 * time.Millisecond)
			}
			fromAgents := 0
			for range 80 {
				age(t, s, pods)
				pass(250 * time.Millisecond)
				fromAgents += originsOf(t, s, pods).AgentPods
			}
			ended := c.world.logged("come from its kubelet")
			if isAgents && (fromAgents < 80 || ended > 0) || !isAgents && (fromAgents > 60 || ended == 0) {
				t.Errorf("%g requests a second: samples from the agent in %d of 80 looks, gone %d times", perSecond, fromAgents,
					ended)
			}
		})
	}
}

// originsOf returns the origins of the pods' samples.
func originsOf(t *testing.T, s *Subscription, pods []*observe.Pod) Origins {
	t.Helper()
	var v View
	if err := s.look(time.Now(), pods, &v); err != nil {
		t.Fatal(err)
	}
	o := v.Origins(time.Now(), pods)
	if isAll := o.AgentPods > 0 && o.KubeletPods == 0; v.IsFromAgents() != isAll {
		t.Errorf("all from agents: %v, of %+v", !isAll, o)
	}
	return o
}

// wantSilent expects the pod's samples from the kubelet, and the agent's failure among the origins.
func wantSilent(t *testing.T, s *Subscription, pods []*observe.Pod, failure error) {
	t.Helper()
	o := originsOf(t, s, pods)
	if o.AgentPods != 0 || o.KubeletPods != 1 || len(o.Silent) != 1 || o.Silent[0].Node != "a" ||
		!strings.Contains(o.Silent[0].Err.Error(), failure.Error()) {
		t.Errorf("while the agent does not answer: %+v", o)
	}
}

// TestNeitherAnswers: if the kubelet cannot be read either, the error has both reasons.
func TestNeitherAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		settled(t, s, pods)
		c.set(func() { c.agents["a"], c.kubeletFailure = errors.New("agent is gone"), errors.New("kubelet is gone") })
		pass(time.Minute)
		var v View
		err := s.look(time.Now(), pods, &v)
		if err == nil || !strings.Contains(err.Error(), "agent is gone") || !strings.Contains(err.Error(), "kubelet is gone") {
			t.Errorf("neither answers: %v", err)
		}
	})
}

// TestNotFromAgent: samples come from the kubelet if the agent lacks a container of the pod, if the IDs of the pod's
// containers are missing, or if the agent is gone.
func TestNotFromAgent(t *testing.T) {
	for name, change := range map[string]func(c *cluster, pods []*observe.Pod){
		"a container is not found": func(c *cluster, _ []*observe.Pod) { c.set(func() { c.unknown = "proxy" }) },
		"no IDs are known":         func(_ *cluster, pods []*observe.Pod) { setRunning(pods, nil) },
		"an ID is none": func(_ *cluster, pods []*observe.Pod) {
			setRunning(pods, &observe.Running{PodUID: "u-0", Containers: []observe.RunningContainer{
				{Name: "app", ID: "app"}, {Name: "proxy", ID: "x shop web-0 proxy\nu-0 y"},
			}})
		},
		"the agent goes": func(c *cluster, _ []*observe.Pod) { c.set(func() { delete(c.agents, "a") }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, pods := running(t)
				settled(t, s, pods)
				change(c, pods)
				age(t, s, pods)
				pass(3 * time.Second)
				for range 40 {
					pass(250 * time.Millisecond)
					if at := time.Now().Add(-age(t, s, pods)); at.UnixMilli()%10_000 != 0 {
						t.Fatalf("a sample of %s is not the kubelet's", at)
					}
				}
			})
		})
	}
}

// setRunning replaces the pod by one with other running containers, as its cache does.
func setRunning(pods []*observe.Pod, running *observe.Running) {
	pod := *pods[0]
	pod.Running = running
	pods[0] = &pod
}

// TestReadsSubscribeToNothing: requests to an agent name the pods that were set, from then on until the object is
// forgotten. Reads change nothing.
func TestReadsSubscribeToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		isAsked := func() bool {
			c.set(func() { clear(c.asked) })
			for range 40 {
				var v View
				_ = s.Latest(time.Now(), pods, &v) // the result does not matter
				pass(250 * time.Millisecond)
			}
			return len(c.asked) > 0
		}
		if isAsked() {
			t.Error("the agent is asked for pods that are only read")
		}
		other := observe.VPA(web.NamespacedName)
		s.Set(web, pods)
		s.Set(other, pods)
		pass(time.Minute)
		if !isAsked() {
			t.Error("the agent is not asked for pods that nobody read for a while")
		}
		s.Forget(web)
		if !isAsked() {
			t.Error("the agent is not asked for pods that another object has too")
		}
		s.Forget(other)
		if isAsked() || len(s.wanted.nodes) > 0 {
			t.Error("the agent is asked for pods that no object has")
		}
	})
}

// TestKubeletBesideAgent: a pod that only its kubelet has, though the agent of its node responds, has samples as fresh
// as without an agent: the kubelet is scraped at the usual interval, and at once when a surge is suspected.
func TestKubeletBesideAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		c.set(func() { c.housekeeping, c.unknown = 250*time.Millisecond, "proxy" })
		pass(25 * time.Second)
		for range 40 {
			age(t, s, pods)
			pass(250 * time.Millisecond)
		}
		if o := originsOf(t, s, pods); o.KubeletPods != 1 || c.world.logged("come from its agent") != 1 {
			t.Fatalf("%+v, logged %v", o, c.world.logs)
		}
		for range 40 {
			pass(250 * time.Millisecond)
			if a := age(t, s, pods); a > time.Second+250*time.Millisecond {
				t.Errorf("a sample of the kubelet is %s old", a)
			}
		}
		pass(500 * time.Millisecond)
		s.Prefer(true, "a")
		pass(50 * time.Millisecond)
		if a := age(t, s, pods); a > 300*time.Millisecond {
			t.Errorf("after an early scrape a sample is %s old", a)
		}
		// When the agent has the pod, its kubelet is scraped seldom again.
		c.set(func() { c.unknown = "" })
		settled(t, s, pods)
		c.set(func() { c.kubelets = 0 })
		for range 80 {
			age(t, s, pods)
			pass(250 * time.Millisecond)
		}
		if c.kubelets > 6 {
			t.Errorf("in 20 s the kubelet was asked %d times", c.kubelets)
		}
	})
}

// TestAgentsAreForgotten: when a session ends because the permissions on kubelets are gone, its agents are forgotten.
// The client that sessions share would otherwise keep the samples of each earlier one.
func TestAgentsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		settled(t, s, pods)
		if c.forgotten != nil {
			t.Errorf("%v are forgotten too early", c.forgotten)
		}
		c.world.stop()
		if !slices.Equal(c.forgotten, []string{"a"}) {
			t.Errorf("forgotten at the end: %v", c.forgotten)
		}
	})
}

// TestLongSelection: pods with names of the maximum length do not make the agent refuse all of the node's pods.
func TestLongSelection(t *testing.T) {
	long := func(n int, suffix string) string { return strings.Repeat("x", n-len(suffix)) + suffix }
	of := &wantedNode{pods: map[podName]*wantedPod{}}
	for pod := range 110 {
		running := &observe.Running{PodUID: long(36, strconv.Itoa(pod))}
		for container := range 30 {
			running.Containers = append(running.Containers, observe.RunningContainer{
				Name: long(63, strconv.Itoa(container)), ID: long(64, strconv.Itoa(container)),
			})
		}
		of.pods[podName{long(63, "ns"), long(253, strconv.Itoa(pod))}] = &wantedPod{running: running}
	}
	text := selection.Prepare(of.containers()).Text
	if containers, err := selection.Decode(text); err != nil || len(containers) < 2000 {
		t.Errorf("%d containers in %d bytes: %v", len(containers), len(text), err)
	}
}

// TestContainerStartsAnew: the agent gets the new ID as soon as the pod's status has it.
func TestContainerStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		settled(t, s, pods)
		setRunning(pods, &observe.Running{PodUID: "u-0", Containers: []observe.RunningContainer{
			{Name: "app", ID: "second"}, {Name: "proxy", ID: "proxy"},
		}})
		age(t, s, pods)
		pass(300 * time.Millisecond)
		if asked := c.asked["a"]; !strings.Contains(asked, "u-0 second shop web-0 app\n") ||
			strings.Contains(asked, "u-0 app ") {
			t.Errorf("asked for %q", asked)
		}
	})
}

// TestContentionOfAgent: the agent returns the contention of the containers that are selected anyway, and isWhole
// reports whether these are all.
func TestContentionOfAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		want := func(what, words string, isAll bool) {
			t.Helper()
			answer, isWhole, err := s.Contention(t.Context(), "a")
			if isWhole != isAll || (answer == nil) != (words == "") || !strings.Contains(string(answer), words) {
				t.Errorf("%s: %q, all of it: %t, %v", what, answer, isWhole, err)
			}
		}
		want("before any pod was set", "", false)
		settled(t, s, pods)
		want("while it answers", "u-0 proxy shop web-0 proxy\n", true)
		c.set(func() { c.unknown = "proxy" })
		pass(2 * time.Second)
		want("a container is not found", "u-0 proxy shop web-0 proxy\n", false)
		c.set(func() { c.agents["a"] = errors.New("connection refused") })
		pass(3 * time.Second)
		want("it does not answer", "", false)
		c.set(func() { delete(c.agents, "a") })
		pass(3 * time.Second)
		want("there is none", "", false)
	})
}

// TestShortPeak: with an agent that is scraped every second, a reader every 15 s, such as the recommender, gets a peak
// of memory of 3 s, and its time. From the kubelet, with its samples every 10 s, it never does.
func TestShortPeak(t *testing.T) {
	const peak = 512 << 20
	for name, test := range map[string]struct {
		failure error
		want    int64
	}{"agent": {nil, peak}, "kubelet": {errors.New("connection refused"), 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, pods := running(t, func(a *Agents) { a.Rounds.Period = time.Second })
				c.set(func() { c.peak, c.agents["a"] = peak, test.failure })
				pass(35 * time.Second)
				seen := int64(0)
				for range 8 {
					pass(15 * time.Second)
					var v View
					if err := s.look(time.Now(), pods, &v); err != nil || len(v.Containers(0)) != 2 {
						t.Fatalf("%d containers: %v", len(v.Containers(0)), err)
					}
					most := v.Containers(0)[0]
					if second := most.MostMemoryAt.Unix() % 60; most.MostMemoryBytes == peak && (second < 3 || second >= 6) {
						t.Errorf("the peak is said to have been in second %d", second)
					}
					seen = max(seen, most.MostMemoryBytes)
				}
				if seen != test.want {
					t.Errorf("the most is %d, not %d", seen, test.want)
				}
				if isAgents := test.failure == nil; (originsOf(t, s, pods).AgentPods == 1) != isAgents {
					t.Errorf("from the agent: %v", !isAgents)
				}
			})
		})
	}
}

// TestRightsAreTakenAway: after the last session, no view has anything of it, such as the places of pods that agents did
// not know: the next object may have fewer pods.
func TestRightsAreTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.unknown = "proxy"
		s := c.world.start(c.configure(), func(config *Config) {
			config.Access = func(context.Context) (string, error) {
				c.world.mu.Lock()
				defer c.world.mu.Unlock()
				return c.world.missing, nil
			}
		})
		c.world.want("a")
		pods := []*observe.Pod{podOf("web-0"), podOf("web-1")}
		var v View
		for range 40 {
			_ = s.look(time.Now(), pods, &v)
			pass(time.Second)
		}
		if len(v.Lacking()) != 2 {
			t.Fatalf("%v are missing from the agent, want both pods", v.Lacking())
		}
		c.world.set(func() { c.world.missing = "get nodes/metrics" })
		pass(2 * accessPeriod)
		if err := s.look(time.Now(), pods[:1], &v); !errors.Is(err, ErrNotGranted) {
			t.Errorf("%v, want %v", err, ErrNotGranted)
		}
		if o := v.Origins(time.Now(), pods[:1]); o.AgentPods+o.KubeletPods > 0 || v.IsUsable() {
			t.Errorf("without a session, samples are known: %+v", o)
		}
	})
}

// TestFailingAgentsAreForgotten: the agent of a node that is removed often fails first. Nothing is kept of such nodes.
func TestFailingAgentsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, pods := running(t)
		settled(t, s, pods)
		c.set(func() { c.agents["a"] = errors.New("connection refused") })
		pass(time.Minute)
		c.world.want()
		s.Forget(web)
		pass(time.Minute)
		a := s.service.session.Load().agents[s.index]
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := len(a.failing) + len(a.fresh); n > 0 {
			t.Errorf("%d nodes are known that are not wanted", n)
		}
	})
}
