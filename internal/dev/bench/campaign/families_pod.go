package campaign

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// podFamilies differ in what pods are, and in the work that they do beside their part of the load.
var podFamilies = []family{
	{name: "hot", cases: 16, build: hotCase},
	{name: "imbalance", cases: 12, build: imbalanceCase},
	{name: "slow", cases: 28, build: slowCase},
	{name: "warm", cases: 36, build: warmCase},
	{name: "jit", cases: 16, build: jitCase},
	{name: "cron", cases: 24, build: cronCase},
	{name: "gc", cases: 12, build: gcCase},
	{name: "leak", cases: 8, build: leakCase},
	{name: "size", cases: 16, build: sizeCase},
	{name: "moves", cases: 20, build: movesCase},
	{name: "rollout", cases: 20, build: rolloutCase},
	{name: "sidecar", cases: 12, build: sidecarCase},
	{name: "second", cases: 12, build: secondCase},
	{name: "restart", cases: 12, build: restartCase},
	{name: "young", cases: 24, build: youngCase},
}

func hotCase(c *Case, r random, _ int) {
	base, hot := r.scaled(1, 8), r.between(0.3, 1.8)
	c.step(base, r.of(1, 1.5, 2.5), 300)
	c.Work = []world.Work{{Pods: world.FirstPod, CPUMilli: hot * c.RequestMilli}}
	c.note("%.1f pods; one uses %.0f %% of its request beside its part of the load", base, hot*100)
}

func imbalanceCase(c *Case, r random, _ int) {
	base := r.scaled(1, 10)
	c.Imbalance, c.Noise = r.of(0.3, 0.6, 0.9), r.of(0, 0.2, 0.5)
	c.step(base, r.of(1.3, 2, 4), 400)
	c.note("%.1f pods, imbalance %.1f, noise %.1f", base, c.Imbalance, c.Noise)
}

func slowCase(c *Case, r random, i int) {
	c.StartAfter = r.seconds(1, 2, 5, 20)
	c.ReadyAfter = time.Duration([]int{0, 1, 5, 15, 30, 60, 120, 300}[i%8]) * time.Second
	base, factor := r.scaled(0.8, 6), r.of(1.5, 2, 3, 6)
	c.step(base, factor, 800)
	c.note("%.1f pods, times %.1f, ready after %v + %v", base, factor, c.StartAfter, c.ReadyAfter)
}

func warmCase(c *Case, r random, _ int) {
	c.ReadyAfter = r.seconds(2, 5, 10, 20, 40)
	c.Startup, c.StartupCPUMilli = r.seconds(5, 15, 30, 45, 60, 90, 150), r.of(0.3, 0.7, 1, 1.5, 2)*c.RequestMilli
	base, factor := r.scaled(0.7, 8), r.of(1.3, 1.6, 2, 3, 5)
	c.step(base, factor, 500)
	c.note("%.1f pods, times %.1f, ready after %v; the start takes %.0fm for %v", base, factor, c.ReadyAfter,
		c.StartupCPUMilli, c.Startup)
}

func jitCase(c *Case, r random, _ int) {
	times, lasts := r.between(1.5, 4), r.seconds(20, 40, 60, 120)
	c.ReadyAfter = r.seconds(3, 10, 20)
	base, factor := r.scaled(0.8, 8), r.of(1.4, 2, 3)
	c.step(base, factor, 500)
	c.Work = []world.Work{{SinceReady: true, Lasts: lasts, ExtraRequestCost: times - 1}}
	c.note("%.1f pods, times %.1f; requests of a new pod cost %.1f times as much at first, for %v", base, factor, times,
		lasts)
}

func cronCase(c *Case, r random, i int) {
	every, lasts, use := r.seconds(30, 60, 120, 300), r.seconds(3, 5, 10, 20, 30), r.of(0.3, 0.6, 1, 1.5)
	base, together := r.scaled(1, 10), "together"
	c.Load = flat(1800, base)
	w := world.Work{Every: every, Lasts: lasts, CPUMilli: use * c.RequestMilli}
	if i%2 == 1 {
		w.Shift, together = 37*time.Second, "each at its own time"
	}
	c.Work = []world.Work{w}
	c.note("%.1f pods; each uses %.0f %% of its request for %v in every %v, %s", base, use*100, lasts, every, together)
}

func gcCase(c *Case, r random, _ int) {
	every, lasts := r.seconds(8, 15, 25, 40), r.seconds(1, 2, 3)
	base := r.scaled(1, 10)
	c.step(base, r.of(1, 1.5, 2.5), 300)
	c.Work = []world.Work{{Every: every, Lasts: lasts, Shift: 13 * time.Second, CPUMilli: c.RequestMilli}}
	c.note("%.1f pods; each uses its request for %v in every %v", base, lasts, every)
}

func leakCase(c *Case, r random, _ int) {
	rate, base := r.of(0.02, 0.05, 0.1), r.scaled(1, 6)
	c.Max, c.FixedMemory = 20, true
	c.Metrics = append(cpu(c.TargetPercent), memory(70)...)
	c.Load = flat(1800, base)
	c.Work = []world.Work{{Every: 20 * time.Minute, MemoryBytesPerSecond: rate * (1 << 20)}}
	c.note("%.1f pods; the memory of each grows by %.2f MiB a second for 20 minutes", base, rate)
}

func sizeCase(c *Case, r random, i int) {
	c.RequestMilli = []float64{5, 5, 10, 20, 50, 100, 2000, 8000}[i%8]
	base, factor := r.scaled(1, 8), r.of(1.3, 2, 4)
	c.Burstiness = r.of(1, 5)
	c.step(base, factor, 400)
	c.note("pods of %.0fm: %.1f, times %.1f", c.RequestMilli, base, factor)
}

func movesCase(c *Case, r random, _ int) {
	every, use, base := r.seconds(15, 20, 30, 45, 60), r.of(0.5, 1, 1.6), r.scaled(0.5, 6)
	c.Min = int32(r.of(2, 3, 4))
	c.Load = flat(1500, base)
	c.Work = []world.Work{{Pods: world.OneByOne, Every: every, CPUMilli: use * c.RequestMilli}}
	c.note("%.1f pods, and %.0f %% of a request of work that moves to the next pod every %v", base, use*100, every)
}

// rolloutCase has a rollout during a load: steady, in the middle of the high part of a step, or at its beginning. Every
// other one has new pods use CPU for their start.
func rolloutCase(c *Case, r random, i int) {
	base, factor := r.scaled(2, 12), []float64{1, r.of(1.5, 2, 3)}[min(1, i%4)]
	c.step(base, factor, 500)
	c.Rollouts = []time.Duration{beforeStep*time.Second + r.seconds(-30, 0, 15, 60, 200)}
	c.ReadyAfter = r.seconds(5, 10, 20, 45)
	if i%2 == 1 {
		c.Startup, c.StartupCPUMilli = r.seconds(20, 40, 60), r.of(0.5, 1, 1.5)*c.RequestMilli
	}
	c.note("%.1f pods, times %.1f; a rollout at %v, ready after %v, start %.0fm for %v", base, factor, c.Rollouts[0],
		c.ReadyAfter, c.StartupCPUMilli, c.Startup)
}

// restartCase has a rollout of pods that are ready long before their start ends, most of them at a steady load.
func restartCase(c *Case, r random, i int) {
	c.ReadyAfter = []time.Duration{3 * time.Second, 10 * time.Second, 20 * time.Second}[i%3]
	c.Startup, c.StartupCPUMilli = c.ReadyAfter+r.seconds(15, 25, 35), r.of(0.6, 0.8, 1)*c.RequestMilli
	base := r.scaled(5, 20)
	c.Load = flat(900, base)
	if i >= 9 {
		c.Load = join(flat(130, base), flat(770, 2*base))
	}
	c.Rollouts = []time.Duration{100 * time.Second}
	c.note("%.1f pods; a rollout at %v, ready after %v, start %.0fm for %v", base, c.Rollouts[0], c.ReadyAfter,
		c.StartupCPUMilli, c.Startup)
}

// youngCase has the load rise when all pods have become ready half a minute to a minute before. Every other one has new
// pods use CPU for their start, which has ended by then.
func youngCase(c *Case, r random, i int) {
	base, factor := r.scaled(0.8, 3), r.of(2, 4, 8)
	c.step(base, factor, 400)
	c.ReadyAfter = r.seconds(2, 5, 10)
	before := r.seconds(35, 40, 45, 50, 60)
	c.Rollouts = []time.Duration{beforeStep*time.Second - before - c.ReadyAfter}
	if i%2 == 1 {
		c.Startup, c.StartupCPUMilli = c.ReadyAfter+r.seconds(5, 10, 20), r.of(0.5, 1, 1.5)*c.RequestMilli
	}
	c.note("%.1f pods, times %.1f; a rollout at %v, ready after %v, start %.0fm for %v", base, factor, c.Rollouts[0],
		c.ReadyAfter, c.StartupCPUMilli, c.Startup)
}

func sidecarCase(c *Case, r random, _ int) {
	base, factor := r.scaled(0.8, 8), r.of(1, 1.5, 2, 4)
	c.Sidecars = []world.Sidecar{{Name: "proxy", CPURequestMilli: 0.1 * c.RequestMilli}}
	c.step(base, factor, 400)
	c.note("%.1f pods, times %.1f, with an idle sidecar", base, factor)
}

func secondCase(c *Case, r random, _ int) {
	base, factor, use := r.scaled(0.8, 8), r.of(1, 1.5, 2, 4), r.of(0.3, 0.6, 1)
	request := 0.4 * c.RequestMilli
	c.Sidecars = []world.Sidecar{{Name: "second", CPURequestMilli: request, CPUMilli: use * request}}
	c.step(base, factor, 400)
	c.note("%.1f pods, times %.1f; a second container uses %.0f %% of its request", base, factor, use*100)
}
