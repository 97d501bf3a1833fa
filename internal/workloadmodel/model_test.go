package workloadmodel

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fixture is one workload on one node.
type fixture struct {
	model    *Model
	node     *Node
	workload *Workload
}

func newFixture(seed uint64, nodeMilli float64, load Shape) fixture {
	m := New(seed)
	f := fixture{model: m, node: m.AddNode("node", nodeMilli), workload: m.AddWorkload("web")}
	m.SetLoad(f.workload, load)
	return f
}

func (f fixture) addPods(n int, resources Resources, profile Profile) []*Pod {
	pods := make([]*Pod, n)
	for i := range pods {
		pods[i] = f.model.AddPod(PodConfig{
			Name: fmt.Sprintf("web-%d", i), Node: f.node, Resources: resources, Profile: profile,
		})
		pods[i].SetWorkload(f.workload)
		pods[i].SetReady(true)
	}
	return pods
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// plain returns a profile without idle usage and start-up, so that numbers are easy to follow.
func plain() Profile {
	p := DefaultProfile()
	p.IdleCPUMilli, p.StartupCPUMilli = 0, 0
	return p
}

func TestOnePod(t *testing.T) {
	tests := map[string]struct {
		reason        string
		rate          float64
		limit         float64
		seconds       int
		profile       func(*Profile)
		cpuMilli      float64
		served, queue float64
		dropped       float64
		latency       float64
	}{
		"half busy": {
			reason: "50/s at 10 milli-core-seconds are 500m of 1000m; 5 ms I/O + 10 ms / (1 - 0.5)",
			rate:   50, limit: 1000, seconds: 10, cpuMilli: 500, served: 500, latency: 0.025,
		},
		"no limit": {
			reason: "500/s need 5 cores and get them; one request still runs on one core: 5 + 10 ms",
			rate:   500, seconds: 10, cpuMilli: 5000, served: 5000, latency: 0.015,
		},
		"a limit below one core slows each request": {
			reason: "10/s are 100m of 200m; a request runs at 200m, 50 ms, / (1 - 0.5), + 5 ms",
			rate:   10, limit: 200, seconds: 10, cpuMilli: 100, served: 100, latency: 0.105,
		},
		"more than the limit queues": {
			reason: "200m do 20/s; 10 s of 5/s too much leave 50 waiting: 2.5 s, + 50 ms / 0.05, + 5 ms",
			rate:   25, limit: 200, seconds: 10, cpuMilli: 200, served: 200, queue: 50, latency: 3.505,
		},
		"the queue is bounded": {
			reason: "of 300 too many, 200 wait and 100 are dropped; 200 at 20/s are 10 s",
			rate:   50, limit: 200, seconds: 10, cpuMilli: 200, served: 200, queue: 200, dropped: 100, latency: 11.005,
		},
		"idle work comes first": {
			reason: "150m of 200m are idle use: 5/s are left, all used; 150 of the 200 requests wait, for 30 s",
			rate:   20, limit: 200, seconds: 10, profile: func(p *Profile) { p.IdleCPUMilli = 150 },
			cpuMilli: 200, served: 50, queue: 150, latency: 0.005 + 0.2/0.05 + 30,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			profile := plain()
			if tt.profile != nil {
				tt.profile(&profile)
			}
			f := newFixture(1, 0, Constant(tt.rate))
			pod := f.addPods(1, Resources{CPULimitMilli: tt.limit}, profile)[0]
			for range tt.seconds {
				f.model.Advance(time.Second)
			}
			t.Log(tt.reason)
			got := pod.Stats()
			near(t, "CPUMilli", got.CPUMilli, tt.cpuMilli)
			near(t, "CPUSeconds", got.CPUSeconds, tt.cpuMilli/1000*float64(tt.seconds))
			near(t, "ServedTotal", got.ServedTotal, tt.served)
			near(t, "QueueLength", got.QueueLength, tt.queue)
			near(t, "DroppedTotal", got.DroppedTotal, tt.dropped)
			near(t, "LatencySeconds", got.LatencySeconds, tt.latency)
		})
	}
}

func TestLoadIsSharedOverReadyPods(t *testing.T) {
	f := newFixture(1, 0, Constant(90))
	pods := f.addPods(4, Resources{}, plain())
	pods[3].SetReady(false)
	f.model.Advance(time.Second)
	for _, p := range pods[:3] {
		near(t, p.Name(), p.Stats().ServedPerSecond, 30)
	}
	near(t, "the pod that is not ready", pods[3].Stats().ServedPerSecond, 0)
	if got := f.workload.Stats(); got.Pods != 4 || got.ReadyPods != 3 {
		t.Errorf("pods %d, ready %d, want 4 and 3", got.Pods, got.ReadyPods)
	}
}

func TestImbalanceSkewsShares(t *testing.T) {
	f := newFixture(7, 0, Constant(100))
	profile := plain()
	profile.Imbalance = 0.5
	low, high := math.Inf(1), 0.0
	pods := f.addPods(10, Resources{}, profile)
	f.model.Advance(time.Second)
	for _, p := range pods {
		low, high = min(low, p.Stats().ServedPerSecond), max(high, p.Stats().ServedPerSecond)
	}
	if high < 1.2*low || high > 3*low {
		t.Errorf("shares from %v to %v: want clearly different, at most (1+0.5)/(1-0.5) = 3 times", low, high)
	}
}

func TestNoiseHasTheRightMean(t *testing.T) {
	f := newFixture(7, 0, Constant(100))
	profile := plain()
	profile.Noise = 0.3
	pod := f.addPods(1, Resources{}, profile)[0]
	low, high := math.Inf(1), 0.0
	const seconds = 10000
	for range seconds {
		f.model.Advance(time.Second)
		low, high = min(low, pod.Stats().CPUMilli), max(high, pod.Stats().CPUMilli)
	}
	if low > 750 || low < 700 || high < 1250 || high > 1300 {
		t.Errorf("cpu from %v to %v, want 1000 -+ 30 %%", low, high)
	}
	if mean := pod.Stats().CPUSeconds / seconds * 1000; math.Abs(mean-1000) > 10 {
		t.Errorf("mean cpu %v, want 1000 within 1 %%", mean)
	}
}

func TestStartupBurst(t *testing.T) {
	profile := plain()
	profile.StartupCPUMilli, profile.Startup = 500, 10*time.Second // 5000 milli-core-seconds of work
	tests := map[string]struct {
		limit, age float64
		busyFor    int // seconds
		milli      float64
	}{
		"unbounded":                          {busyFor: 10, milli: 500},
		"a lower limit makes it last longer": {limit: 250, busyFor: 20, milli: 250},
		"an older pod has done a part":       {age: 4, busyFor: 6, milli: 500},
		"an old pod has done all":            {age: 60, busyFor: 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := New(1)
			pod := m.AddPod(PodConfig{
				Name: "p", Profile: profile, Resources: Resources{CPULimitMilli: tt.limit},
				Age: time.Duration(tt.age) * time.Second,
			})
			for s := range 30 {
				m.Advance(time.Second)
				want := 0.0
				if s < tt.busyFor {
					want = tt.milli
				}
				near(t, fmt.Sprintf("second %d", s), pod.Stats().CPUMilli, want)
			}
		})
	}
}

func TestContendedNode(t *testing.T) {
	m := New(1)
	node := m.AddNode("node", 1000)
	pod := func(name string, request, idle float64) *Pod {
		profile := plain()
		profile.IdleCPUMilli = idle
		return m.AddPod(PodConfig{Name: name, Node: node, Resources: Resources{CPURequestMilli: request}, Profile: profile})
	}
	// 1400m wanted, 1000m there; requests cover 300 + 100 + 200 = 600; 400 are left for the 800 still wanted: half of each
	// wish.
	modest, greedy, burst := pod("modest", 500, 300), pod("greedy", 100, 700), pod("burst", 200, 400)
	m.Advance(time.Second)
	near(t, "within its request", modest.Stats().CPUMilli, 300)
	near(t, "greedy", greedy.Stats().CPUMilli, 100+300)
	near(t, "burst", burst.Stats().CPUMilli, 200+100)
	near(t, "node", node.Stats().CPUMilli, 1000+defaultNodeIdleMilli)
	// Too small for the requests (600m): in proportion to them.
	node.SetCapacity(300)
	m.Advance(time.Second)
	near(t, "within its request", modest.Stats().CPUMilli, 150)
	near(t, "greedy", greedy.Stats().CPUMilli, 50)
	near(t, "burst", burst.Stats().CPUMilli, 100)
}

func TestMemory(t *testing.T) {
	profile := plain()
	profile.MemoryBaseBytes, profile.MemoryPerRequestBytes, profile.MemoryHold = 1000, 10, 2*time.Second
	f := newFixture(1, 0, Constant(30))
	pod := f.addPods(1, Resources{CPULimitMilli: 200}, profile)[0]
	near(t, "before any step", pod.Stats().MemoryBytes, 1000)
	f.model.Advance(time.Second)
	near(t, "20/s served and held for 2 s, 10 waiting", pod.Stats().MemoryBytes, 1000+10*(40+10))
	pod.SetResources(Resources{CPULimitMilli: 200, MemoryLimitBytes: 1200})
	f.model.Advance(time.Second)
	near(t, "at most the limit", pod.Stats().MemoryBytes, 1200)
}

func TestBacklogWaitsForTheFirstPod(t *testing.T) {
	f := newFixture(1, 0, Constant(10))
	f.workload.SetBacklogLimit(25)
	for range 3 {
		f.model.Advance(time.Second)
	}
	got := f.workload.Stats()
	near(t, "waiting", got.QueueLength, 25)
	near(t, "dropped", got.DroppedTotal, 5)
	f.addPods(1, Resources{}, plain())
	f.model.Advance(time.Second)
	near(t, "served at once", f.workload.Stats().ServedTotal, 35)
	near(t, "nothing waits", f.workload.Stats().QueueLength, 0)
}

func TestRemovedWorkloadLeavesItsPods(t *testing.T) {
	f := newFixture(1, 0, Constant(10))
	pods := f.addPods(3, Resources{}, plain())
	f.model.RemoveWorkload(f.workload)
	f.model.Advance(time.Second)
	for _, p := range pods {
		if p.Workload() != nil || p.Stats().ServedTotal != 0 {
			t.Errorf("%s still serves", p.Name())
		}
	}
}

// TestBooksBalance drives random workloads with random changes and checks the laws of the model after each step.
func TestBooksBalance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(rapid.Uint64().Draw(rt, "seed"), rapid.Float64Range(0, 4000).Draw(rt, "node"),
			Constant(rapid.Float64Range(0, 2000).Draw(rt, "rate")))
		f.workload.SetBacklogLimit(rapid.Float64Range(0, 500).Draw(rt, "backlog"))
		var pods []*Pod
		cpu := map[*Pod]float64{}
		nodeCPU := 0.0
		for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			pods = change(rt, f, pods, step)
			dt := time.Duration(rapid.IntRange(1, 5000).Draw(rt, "ms")) * time.Millisecond
			f.model.Advance(dt)
			checkPods(rt, pods, cpu)
			checkTotals(rt, f, pods, &nodeCPU)
		}
	})
}

// change adds, removes, resizes or turns a pod, or does nothing.
func change(rt *rapid.T, f fixture, pods []*Pod, step int) []*Pod {
	if len(pods) == 0 || rapid.Bool().Draw(rt, "add") {
		p := f.model.AddPod(PodConfig{
			Name: fmt.Sprint(step), Node: f.node, Profile: drawProfile(rt), Resources: drawResources(rt),
		})
		p.SetWorkload(f.workload)
		p.SetReady(rapid.Bool().Draw(rt, "ready"))
		return append(pods, p)
	}
	i := rapid.IntRange(0, len(pods)-1).Draw(rt, "which")
	switch rapid.IntRange(0, 4).Draw(rt, "change") {
	case 0:
		f.model.RemovePod(pods[i])
		return append(pods[:i:i], pods[i+1:]...)
	case 1:
		pods[i].SetReady(rapid.Bool().Draw(rt, "ready"))
	case 2:
		pods[i].SetResources(drawResources(rt))
	case 3:
		pods[i].SetWorkload(nil)
		pods[i].SetWorkload(f.workload)
	}
	return pods
}

func drawResources(rt *rapid.T) Resources {
	return Resources{
		CPURequestMilli: rapid.Float64Range(0, 1000).Draw(rt, "request"),
		CPULimitMilli:   rapid.Float64Range(0, 2000).Draw(rt, "limit"),
	}
}

func drawProfile(rt *rapid.T) Profile {
	p := DefaultProfile()
	p.CPUPerRequestMilliCoreSeconds = rapid.Float64Range(0, 50).Draw(rt, "cost")
	p.IdleCPUMilli = rapid.Float64Range(0, 100).Draw(rt, "idle")
	p.StartupCPUMilli = rapid.Float64Range(0, 500).Draw(rt, "startup")
	p.QueueLimit = rapid.Float64Range(0, 300).Draw(rt, "queue")
	p.Imbalance = rapid.Float64Range(0, 0.9).Draw(rt, "imbalance")
	p.Noise = rapid.Float64Range(0, 0.9).Draw(rt, "noise")
	return p
}

func checkPods(rt *rapid.T, pods []*Pod, cpu map[*Pod]float64) {
	const slack = 1e-6
	for _, p := range pods {
		s := p.Stats()
		if limit := p.resources.CPULimitMilli; limit > 0 && s.CPUMilli > limit*(1+slack) {
			rt.Fatalf("cpu %v above its limit %v", s.CPUMilli, limit)
		}
		if s.CPUSeconds < cpu[p] {
			rt.Fatalf("cpu counter fell from %v to %v", cpu[p], s.CPUSeconds)
		}
		cpu[p] = s.CPUSeconds
		if s.QueueLength < 0 || s.QueueLength > p.profile.QueueLimit || s.ServedPerSecond < 0 {
			rt.Fatalf("queue %v of at most %v, served %v/s", s.QueueLength, p.profile.QueueLimit, s.ServedPerSecond)
		}
		if math.IsNaN(s.LatencySeconds) || s.LatencySeconds < 0 || s.LatencySeconds > maxLatencySeconds {
			rt.Fatalf("latency %v", s.LatencySeconds)
		}
	}
}

func checkTotals(rt *rapid.T, f fixture, pods []*Pod, nodeCPU *float64) {
	const slack = 1e-6
	w, n := f.workload.Stats(), f.node.Stats()
	if diff := w.OfferedTotal - w.ServedTotal - w.DroppedTotal - w.QueueLength; math.Abs(diff) > slack*max(1,
		w.OfferedTotal) {
		rt.Fatalf("offered %v, served %v, dropped %v, queued %v: %v are lost",
			w.OfferedTotal, w.ServedTotal, w.DroppedTotal, w.QueueLength, diff)
	}
	if bound := f.node.capacityMilli; bound > 0 && n.CPUMilli-defaultNodeIdleMilli > bound+slack*max(1, bound) {
		rt.Fatalf("the node's pods used %v of %v", n.CPUMilli-defaultNodeIdleMilli, bound)
	}
	var sum float64
	for _, p := range pods {
		sum += p.Stats().CPUMilli
	}
	if math.Abs(sum+defaultNodeIdleMilli-n.CPUMilli) > slack*max(1, sum) || n.CPUSeconds < *nodeCPU {
		rt.Fatalf("node used %v, its pods %v; counter %v after %v", n.CPUMilli, sum, n.CPUSeconds, *nodeCPU)
	}
	*nodeCPU = n.CPUSeconds
}

// TestOrderDoesNotMatter adds the same pods in two orders.
func TestOrderDoesNotMatter(t *testing.T) {
	profile := DefaultProfile()
	profile.Noise, profile.Imbalance = 0.5, 0.5
	run := func(order []int) map[string]PodStats {
		f := newFixture(3, 0, Constant(100))
		pods := make([]*Pod, 0, len(order))
		for _, i := range order {
			p := f.model.AddPod(PodConfig{Name: fmt.Sprint(i), Profile: profile})
			p.SetWorkload(f.workload)
			p.SetReady(true)
			pods = append(pods, p)
		}
		for range 20 {
			f.model.Advance(time.Second)
		}
		stats := map[string]PodStats{}
		for _, p := range pods {
			stats[p.Name()] = p.Stats()
		}
		return stats
	}
	a, b := run([]int{0, 1, 2, 3}), run([]int{3, 1, 0, 2})
	for name := range a {
		near(t, name, a[name].CPUSeconds, b[name].CPUSeconds)
		near(t, name, a[name].ServedTotal, b[name].ServedTotal)
	}
	if a["0"].CPUSeconds == a["1"].CPUSeconds {
		t.Error("noise and imbalance should tell pods apart")
	}
}

func TestAdvanceDoesNotAllocate(t *testing.T) {
	f := newFixture(1, 4000, Constant(1000))
	f.addPods(100, Resources{CPULimitMilli: 100}, DefaultProfile())
	if got := testing.AllocsPerRun(100, func() { f.model.Advance(time.Second) }); got != 0 {
		t.Errorf("%v allocations per step", got)
	}
}

// BenchmarkDay plays a day at a resolution of one second with 50 pods under a wave.
func BenchmarkDay(b *testing.B) {
	wave, err := NewSine(1000, 800, 24*time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	profile := DefaultProfile()
	profile.Noise, profile.Imbalance = 0.2, 0.2
	for b.Loop() {
		f := newFixture(1, 0, wave)
		f.addPods(50, Resources{CPURequestMilli: 200, CPULimitMilli: 500}, profile)
		for range 86400 {
			f.model.Advance(time.Second)
		}
	}
}

// TestQueue: requests that the pods cannot serve wait in one queue and are never lost. A new pod helps at once, and the
// wait depends on the existing pods.
func TestQueue(t *testing.T) {
	f := newFixture(1, 0, Constant(50))
	f.workload.SetQueue(true)
	f.model.Advance(time.Second)
	near(t, "without pods", f.workload.Stats().QueueLength, 50)
	// 10 ms for each request, so 20 a second.
	f.addPods(1, Resources{CPULimitMilli: 200}, plain())
	for range 10 {
		f.model.Advance(time.Second)
	}
	got := f.workload.Stats()
	near(t, "30 more each second", got.QueueLength, 350)
	near(t, "served", got.ServedPerSecond, 20)
	near(t, "lost", got.DroppedTotal, 0)
	if got.LatencySeconds < 17.5 || got.LatencySeconds > 19 {
		t.Errorf("a latency of %v s, want the 350 / 20 s of the queue and what a request takes", got.LatencySeconds)
	}
	f.addPods(4, Resources{CPULimitMilli: 200}, plain())
	f.model.Advance(time.Second)
	near(t, "50 fewer", f.workload.Stats().QueueLength, 300)
	f.model.SetLoad(f.workload, Constant(10))
	for range 10 {
		f.model.Advance(time.Second)
	}
	got = f.workload.Stats()
	near(t, "nothing waits", got.QueueLength, 0)
	near(t, "served at last", got.ServedPerSecond, 10)
}
