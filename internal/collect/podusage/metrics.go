package podusage

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// metrics are the Prometheus metrics of a Service.
type metrics struct {
	source   *prometheus.GaugeVec
	scrapes  *prometheus.CounterVec
	duration prometheus.Histogram
	cpu      prometheus.Counter
	held     *prometheus.CounterVec
	nodes    prometheus.Gauge
	failing  prometheus.Gauge
	unfound  prometheus.Gauge
	// agents counts the nodes whose samples come from agents.
	agents       prometheus.Gauge
	agentScrapes *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: "plimsoll", Name: name, Help: help})
	}
	m := &metrics{
		source: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "plimsoll", Name: "resource_metrics_source",
			Help: "1 for the current source of resource metrics: the label 'source' is 'kubelet', also with agents of " +
				"nodes, or 'api'."}, []string{"source"}),
		scrapes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll", Name: "kubelet_scrapes_total",
			Help: "Scrapes of kubelets. The label 'result' is 'success' or 'failure'."}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: "plimsoll",
			Name:    "kubelet_scrape_duration_seconds",
			Help:    "The duration of scrapes of kubelets, until their samples are stored.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		cpu: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: "plimsoll", Name: "kubelet_scrape_cpu_seconds_total",
			Help: "The CPU time of reading and parsing the responses of kubelets, which --kubelet-max-cpu bounds."}),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll", Name: "kubelet_held_scrapes_total",
			Help: "Scrapes of kubelets that the budget delayed by more than a tenth of an interval. The label 'bound' is " +
				"the exhausted limit: 'scrapes' per second, 'cpu' or 'concurrency'."}, []string{"bound"}),
		nodes:   gauge("kubelet_nodes", "Nodes with pods of targets that have resource metrics."),
		failing: gauge("kubelet_failing_nodes", "Nodes whose last scrape failed."),
		unfound: gauge("kubelet_unfound_nodes", "Nodes that are not scraped because their kubelet has no known address."),
		agents:  gauge("agent_nodes", "Nodes whose samples come from their agents."),
		agentScrapes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll", Name: "agent_scrapes_total",
			Help: "Scrapes of the agents of nodes. The label 'result' is 'success' or 'failure'."}, []string{"result"}),
	}
	return m, errors.Join(
		series.Register(registerer, &m.source),
		series.Register(registerer, &m.scrapes),
		series.Register(registerer, &m.duration),
		series.Register(registerer, &m.cpu),
		series.Register(registerer, &m.held),
		series.Register(registerer, &m.nodes),
		series.Register(registerer, &m.failing),
		series.Register(registerer, &m.unfound),
		series.Register(registerer, &m.agents),
		series.Register(registerer, &m.agentScrapes),
	)
}

func (m *metrics) from(source string) {
	for _, s := range []string{"kubelet", "api"} {
		value := 0.0
		if s == source {
			value = 1
		}
		m.source.WithLabelValues(s).Set(value)
	}
}

func (m *metrics) scraped(took, cpu time.Duration, err error) {
	m.scrapes.WithLabelValues(resultOf(err)).Inc()
	m.duration.Observe(took.Seconds())
	m.cpu.Add(cpu.Seconds())
}

func (m *metrics) agentScraped(_, _ time.Duration, err error) {
	m.agentScrapes.WithLabelValues(resultOf(err)).Inc()
}

func resultOf(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// countDelayed adds the scrapes that the budget delayed since before.
func (m *metrics) countDelayed(before, now *scrape.Totals) {
	for bound := scrape.ByScrapes; bound < scrape.Bounds; bound++ {
		m.held.WithLabelValues(bound.String()).Add(float64(now.Held[bound] - before.Held[bound]))
	}
}

// reset ends a session: nothing is scraped, so that nothing fails.
func (m *metrics) reset() {
	m.nodes.Set(0)
	m.failing.Set(0)
	m.unfound.Set(0)
	m.agents.Set(0)
}
