package loop

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// Ask is how a metric is asked for that Plimsoll reads itself.
type Ask struct {
	// Interval is how often a server or a scaler is asked.
	Interval time.Duration
	// IsPushed is set if a scaler pushes its activity.
	IsPushed bool
}

// pushDelay is how often it is looked whether a scaler has something to report.
const pushDelay = time.Second

// isAsked reports whether Plimsoll asks a server, a scaler or pods in front of the workload for the metric.
func isAsked(spec *source.Spec) bool {
	return spec.Type == source.Prometheus || spec.Type.ReportsActivity() || spec.OtherPods != ""
}

// activity is a scaler's response: it is active while requests arrive or wait.
func (d *decider) activity() metric.Activity {
	if s := d.World.Stats(); s.OfferedPerSecond > 0 || s.QueueLength > 0 {
		return metric.Active
	}
	return metric.Inactive
}

// server is one that is asked for a metric, or a scaler.
type server struct {
	Ask
	metric int
	// next is when it is asked next, push when it is looked whether it has something to report.
	next, push time.Duration
}

func newServers(c *Config, random *rand.Rand) []server {
	var servers []server
	for i := range c.Policy.Metrics {
		if !isAsked(&c.Policy.Metrics[i]) {
			continue
		}
		s := server{metric: i, push: never}
		if s.Ask = (Ask{Interval: 5 * time.Second}); i < len(c.Asks) {
			s.Ask = c.Asks[i]
		}
		s.next = time.Duration(random.Int64N(int64(s.Interval)))
		if s.IsPushed {
			s.push = pushDelay
		}
		servers = append(servers, s)
	}
	return servers
}

// askServers asks those that are due, and reports whether one has something new to decide on.
func (p *Plimsoll) askServers() (isNew bool) {
	now := p.World.Now()
	for i := range p.servers {
		s := &p.servers[i]
		if s.next <= now {
			s.next += s.Interval
			p.ask(s.metric)
			isNew = true
		}
		if s.push <= now {
			s.push += pushDelay
			r := &p.observation.Readings[s.metric]
			if r.Activity != metric.Active && p.activity() == metric.Active {
				// A push has no value. The last one, if there is one, is what is known.
				r.Activity, isNew = metric.Active, true
			}
		}
	}
	return isNew
}

func (p *Plimsoll) observeEndpoint(r *metric.Reading, spec *source.Spec) {
	page := meter.Gauge
	if spec.IsRate {
		page = meter.Rate
	}
	for _, pod := range p.World.Pods() {
		if !pod.IsRunning || pod.Deleting {
			r.Samples, r.Recent = append(r.Samples, metric.Sample{}), append(r.Recent, metric.Recent{})
			continue
		}
		r.Samples = append(r.Samples, pod.Page.AverageOf(page, p.World.Epoch(), pageWindow(pod)))
		r.Recent = append(r.Recent, pod.Page.RecentOf(page, p.World.Epoch()))
	}
	r.Empty = isEmpty(r)
}

// pageWindow is what the values of a pod are averaged over: while it has just become ready they begin with that, by
// what the API says, whose times are whole seconds.
func pageWindow(pod *world.Pod) time.Duration {
	newest, found := pod.Page.Newest()
	if !found || !pod.IsReady {
		return averaging.StableWindow
	}
	ready := (pod.Ready + pod.ClockOffset).Truncate(time.Second)
	return averaging.PodWindow(newest.At-ready-time.Second, averaging.StableWindow)
}
