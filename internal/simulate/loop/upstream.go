package loop

import (
	"math/rand/v2"
	"time"
)

// UpstreamTiming is when upstream's controller decides, and how old its metrics are.
type UpstreamTiming struct {
	// Sync is --horizontal-pod-autoscaler-sync-period.
	Sync time.Duration
	MetricsServerTiming
}

// DefaultUpstreamTiming is what clusters run with: the defaults of
// kube-controller-manager and of metrics-server's manifests.
func DefaultUpstreamTiming() UpstreamTiming {
	return UpstreamTiming{
		Sync:                15 * time.Second,
		MetricsServerTiming: MetricsServerTiming{Resolution: 15 * time.Second, Lag: 200 * time.Millisecond},
	}
}

// Upstream is kube-controller-manager's controller.
type Upstream struct {
	decider
	timing UpstreamTiming
	server metricsServer
	// sync is when that is due.
	sync   time.Duration
	random *rand.Rand
}

var _ Loop = (*Upstream)(nil)

// How long a sync takes: a few requests to the API server. An object is added to the queue again after
// it was processed, for a sync period from then (processNextWorkItem in Kubernetes 1.37,
// pkg/controller/podautoscaler/horizontal.go). So the period is a little longer than the sync period,
// and syncs drift against the scrapes of metrics-server, whose ticker keeps its times (v0.9,
// pkg/server/server.go). The figures are assumed.
const (
	shortestSync = 10 * time.Millisecond
	longestSync  = 30 * time.Millisecond
)

// never is after the end of every simulation.
const never = time.Duration(1<<63 - 1)

// upstreamStream is for the random times of upstream's controller and of metrics-server.
const upstreamStream = 0x757073

// NewUpstream is upstream's controller on a world.
func NewUpstream(c Config, timing UpstreamTiming) *Upstream {
	random := rand.New(rand.NewPCG(c.Seed, upstreamStream))
	return &Upstream{
		decider: newDecider(c), timing: timing, random: random,
		server: newMetricsServer(timing.MetricsServerTiming, random),
		sync:   time.Duration(random.Int64N(int64(timing.Sync))),
	}
}

// Next implements Loop.
func (u *Upstream) Next() time.Duration { return min(u.server.next(), u.sync) }

// Act implements Loop.
func (u *Upstream) Act() {
	now := u.World.Now()
	u.server.act(u.World)
	if u.sync <= now {
		takes := shortestSync + time.Duration(u.random.Int64N(int64(longestSync-shortestSync)))
		u.sync = now + takes + u.timing.Sync
		u.observe()
		u.decide()
	}
}

func (u *Upstream) observe() {
	u.observePods()
	for i := range u.Policy.Metrics {
		spec := &u.Policy.Metrics[i]
		if !isResource(spec) {
			u.ask(i)
			continue
		}
		r := u.begin(i)
		for _, p := range u.World.Pods() {
			r.Samples = append(r.Samples, served(u.World.Epoch(), p, spec))
		}
		r.Empty = isEmpty(r)
	}
}
