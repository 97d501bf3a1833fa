package podendpoint

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// metrics are the Prometheus metrics of a Source.
type metrics struct {
	scrapes     *prometheus.CounterVec
	duration    prometheus.Histogram
	cpu         prometheus.Counter
	held        *prometheus.CounterVec
	pods        *prometheus.GaugeVec
	connections prometheus.Gauge

	success, failure prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		scrapes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll",
			Name: "pod_endpoint_scrapes_total",
			Help: "Scrapes of pods for PodEndpoint metrics. The label 'result' is 'success' or 'failure'."},
			[]string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: "plimsoll",
			Name:    "pod_endpoint_scrape_duration_seconds",
			Help:    "The duration of scrapes of pods, until their pages are parsed.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12)}),
		cpu: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: "plimsoll",
			Name: "pod_endpoint_scrape_cpu_seconds_total",
			Help: "The CPU time of scrapes of pods, which --pod-endpoint-max-cpu bounds: measured for parsing pages, " +
				"estimated for requesting them."}),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll",
			Name: "pod_endpoint_held_scrapes_total",
			Help: "Scrapes of pods that the budget delayed by more than a tenth of an interval. The label 'bound' is the " +
				"exhausted limit: 'scrapes' per second, 'cpu' or 'concurrency'."}, []string{"bound"}),
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "plimsoll", Name: "pod_endpoint_pods",
			Help: "Pods of objects with PodEndpoint metrics. The label 'state' is 'scraped', 'failing' if the last scrape " +
				"failed or there is none, or 'unsampled' if a sample of other pods represents them."}, []string{"state"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: "plimsoll",
			Name: "pod_endpoint_connections", Help: "Open connections to pods for PodEndpoint metrics."}),
	}
	err := errors.Join(
		series.Register(registerer, &m.scrapes),
		series.Register(registerer, &m.duration),
		series.Register(registerer, &m.cpu),
		series.Register(registerer, &m.held),
		series.Register(registerer, &m.pods),
		series.Register(registerer, &m.connections),
	)
	m.success, m.failure = m.scrapes.WithLabelValues("success"), m.scrapes.WithLabelValues("failure")
	return m, err
}

func (m *metrics) scraped(took, cpu time.Duration, err error) {
	if err != nil {
		m.failure.Inc()
	} else {
		m.success.Inc()
	}
	m.duration.Observe(took.Seconds())
	m.cpu.Add(cpu.Seconds())
}

// heldBack adds the scrapes that the budget delayed since before.
func (m *metrics) heldBack(before, now *scrape.Totals) {
	for bound := scrape.ByScrapes; bound < scrape.Bounds; bound++ {
		m.held.WithLabelValues(bound.String()).Add(float64(now.Held[bound] - before.Held[bound]))
	}
}

// counts counts the pods by their state.
type counts struct{ scraped, failing, unsampled int }

func (c *counts) add(p *podPage) {
	for _, t := range p.targets {
		if t.failing != nil {
			c.failing++
		} else {
			c.scraped++
		}
	}
	c.failing += p.unreachables
	c.unsampled += p.pods - len(p.targets)
}

func (m *metrics) count(c *counts) {
	m.pods.WithLabelValues("scraped").Set(float64(c.scraped))
	m.pods.WithLabelValues("failing").Set(float64(c.failing))
	m.pods.WithLabelValues("unsampled").Set(float64(c.unsampled))
}

// reset clears the metrics when scraping ends.
func (m *metrics) reset() {
	m.count(&counts{})
	m.connections.Set(0)
}
