package loop

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// MetricsServerTiming is when metrics-server scrapes.
type MetricsServerTiming struct {
	// Resolution is --metric-resolution, Lag how long it takes until a round of scrapes can be asked for.
	Resolution, Lag time.Duration
}

// metricsServer is metrics-server, which scrapes all kubelets.
type metricsServer struct {
	MetricsServerTiming
	// scrape and publish are when these are due.
	scrape, publish time.Duration
}

func newMetricsServer(timing MetricsServerTiming, random *rand.Rand) metricsServer {
	return metricsServer{
		MetricsServerTiming: timing, scrape: time.Duration(random.Int64N(int64(timing.Resolution))), publish: never,
	}
}

func (m *metricsServer) next() time.Duration { return min(m.scrape, m.publish) }

// act does what is due now. The scrape of a node that does not answer fails at once.
func (m *metricsServer) act(w *world.World) {
	now := w.Now()
	if m.scrape <= now {
		for p, c := range w.Containers() {
			if r, isAny := p.Scraped(c, now); isAny && !w.IsSilent(p.Group) {
				c.Meter.Scrape(r)
			}
		}
		m.publish, m.scrape = now+m.Lag, m.scrape+m.Resolution
	}
	if m.publish <= now {
		for p, c := range w.Containers() {
			c.Meter.Publish(p.Running+p.ClockOffset, m.Resolution)
		}
		m.publish = never
	}
}

// served is what metrics-server answers of a pod for a metric: nothing unless all its containers have an average, and
// the time of the oldest of them (metrics-server v0.9, pkg/storage/pod.go, GetMetrics).
func served(epoch time.Time, p *world.Pod, spec *source.Spec) (s metric.Sample) {
	var oldest time.Duration
	for k := range p.Containers {
		c := &p.Containers[k]
		cpu := c.Meter.Served(epoch)
		if !cpu.Present {
			return metric.Sample{}
		}
		last, _ := c.Meter.ServedReading()
		if k == 0 || last.At < oldest {
			oldest, s.At, s.Window = last.At, cpu.At, cpu.Window
		}
		switch {
		case spec.Container != "" && spec.Container != c.Name:
			continue
		case spec.Name == source.CPU:
			s.Milli += cpu.Milli
		default:
			s.Milli += milli(last.MemoryBytes)
		}
		s.Present = true
	}
	if !s.Present {
		return metric.Sample{}
	}
	return s
}

// fallbackPeriod is how often metrics.k8s.io is asked between sync periods while it stands in (FallbackPeriod of
// internal/controller/horizontal/readings).
const fallbackPeriod = 5 * time.Second

// standIn is metrics.k8s.io for Plimsoll's loop, which asks it where too many pods are on nodes that do not answer.
type standIn struct {
	metricsServer
	// asked is when it was asked the last time; answers are those of then, by metric.
	asked   time.Duration
	answers map[*world.Pod][]metric.Sample
}

// newStandIn has the times of upstream's metrics-server.
func newStandIn(c *Config, timing MetricsServerTiming) *standIn {
	random := rand.New(rand.NewPCG(c.Seed, upstreamStream))
	return &standIn{
		metricsServer: newMetricsServer(timing, random), asked: -fallbackPeriod, answers: map[*world.Pod][]metric.Sample{},
	}
}

// ask asks for all metrics, unless the last answer is still good.
func (s *standIn) ask(w *world.World, metrics []source.Spec, isAnew bool) {
	if !isAnew && w.Now()-s.asked < fallbackPeriod {
		return
	}
	s.asked = w.Now()
	clear(s.answers)
	for _, p := range w.Pods() {
		answer := make([]metric.Sample, len(metrics))
		for i := range metrics {
			answer[i] = served(w.Epoch(), p, &metrics[i])
		}
		s.answers[p] = answer
	}
}

// read appends the last answer to a metric; a pod that has come since is not in it.
func (s *standIn) read(r *metric.Reading, i int, pods []*world.Pod) {
	for _, p := range pods {
		var sample metric.Sample
		if answer, found := s.answers[p]; found {
			sample = answer[i]
		}
		r.Samples = append(r.Samples, sample)
	}
	r.Empty = isEmpty(r)
}
