package horizontal

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// The values of the labels action and error, upstream's.
const (
	actionUp      = "scale_up"
	actionDown    = "scale_down"
	actionNone    = "none"
	errorSpec     = "spec"
	errorInternal = "internal"
	errorNone     = "none"
)

// The values of the label source.
const (
	sourceKubelet = "kubelet"
	sourceAPI     = "api"
)

// upstreamSubsystem is what upstream's series begin with.
const upstreamSubsystem = "horizontal_pod_autoscaler_controller"

// metrics are upstream's series by its names and labels, and Plimsoll's own.
type metrics struct {
	reconciliations    *prometheus.CounterVec
	reconciliationTime *prometheus.HistogramVec
	computations       *prometheus.CounterVec
	computationTime    *prometheus.HistogramVec
	objects            prometheus.Gauge
	staleSkips         *prometheus.CounterVec

	// stale are the objects that wait for the cache, versionsBack how often it turned out
	// that it would never come.
	stale        prometheus.Gauge
	versionsBack prometheus.Counter

	running       prometheus.Gauge
	contested     prometheus.Gauge
	foreignWrites prometheus.Counter
	overtaken     prometheus.Counter
	outdated      prometheus.Counter
	panics        prometheus.Counter
	shadow        *prometheus.CounterVec
	// parts are each object's count and those of its last decision, lateness is how long
	// after it was due a decision began.
	parts    *parts
	lateness prometheus.Histogram
	// startup is by part, toReady is all of it.
	startup *prometheus.HistogramVec
	toReady prometheus.Histogram
	// readings counts by the source of resource metrics, standIns the objects that
	// have to do without kubelets.
	readings *prometheus.CounterVec
	standIns prometheus.Gauge
	// unreadable are the pods that count as missing for that reason.
	unreadable prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	const own = "plimsoll"
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	result, perMetric := []string{"action", "error"}, []string{"action", "error", "metric_type"}
	counter := func(subsystem, name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels []string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: upstreamSubsystem, Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(subsystem, name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help})
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Subsystem: own, Name: name, Help: help})
	}
	m := &metrics{
		reconciliations: counter(upstreamSubsystem, "reconciliations_total",
			"Number of reconciliations of HPA controller. The label 'action' is 'scale_down', 'scale_up', or 'none'; the label 'error' is 'spec', 'internal', or 'none'.", result),
		reconciliationTime: histogram("reconciliation_duration_seconds",
			"The time(seconds) that the HPA controller takes to reconcile once.", result),
		computations: counter(upstreamSubsystem, "metric_computation_total",
			"Number of metric computations. The label 'metric_type' corresponds to HPA.spec.metrics[*].type.", perMetric),
		computationTime: histogram("metric_computation_duration_seconds",
			"The time(seconds) that the HPA controller takes to calculate one metric.", perMetric),
		objects: gauge(upstreamSubsystem, "num_horizontal_pod_autoscalers", "Current number of controlled HPA objects."),
		staleSkips: counter(upstreamSubsystem, "stale_sync_skips_total",
			"Total number of HPA syncs skipped due to a stale watch cache.", []string{"group", "resource"}),
		stale: gauge(own, "stale_horizontal_pod_autoscalers",
			"Objects that have not been decided for two sync periods because the cache is behind the last write of their status."),
		versionsBack: single("resource_version_regressions_total",
			"Objects found to be stored with an older resource version than their last status write had, as after etcd was restored."),
		running:       gauge(own, "horizontal_running", "1 while this instance decides, 0 while it waits for its turn."),
		contested:     gauge(own, "contested_horizontal_pod_autoscalers", "Objects that are not scaled because another controller writes their status."),
		foreignWrites: single("foreign_status_writes_total", "Writes of the status of HorizontalPodAutoscalers by other controllers."),
		overtaken:     single("overtaken_decisions_total", "Decisions given up because the object or its target changed meanwhile."),
		outdated:      single("outdated_decisions_total", "Decisions given up because they had waited too long when their scale write could begin."),
		panics:        single("horizontal_panics_total", "Decisions that ended in a panic."),
		shadow: counter(own, "shadow_comparisons_total",
			"Decisions in shadow mode compared with the other controller's. The label 'result' is 'agree', 'replicas' or 'conditions', after what differs.", []string{"result"}),
		readings: counter(own, "resource_readings_total",
			"Decisions with resource metrics, where kubelets can be asked. The label 'source' is 'kubelet' or 'api', after where these came from.", []string{"source"}),
		parts: newParts(),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: own, Name: "horizontal_decision_lateness_seconds",
			Help: "How long after it was due a decision began.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}),
		standIns: gauge(own, "resource_stand_ins", "Objects with resource metrics from metrics.k8s.io because a kubelet cannot be read."),
		unreadable: gauge(own, "resource_unreadable_pods",
			"Ready pods of objects that count as missing because the kubelets of their nodes cannot be read."),
	}
	m.startup, m.toReady = newStartup()
	err := m.register(registerer)
	return m, err
}

func (m *metrics) register(registerer prometheus.Registerer) error {
	return errors.Join(
		series.Register(registerer, &m.reconciliations),
		series.Register(registerer, &m.reconciliationTime),
		series.Register(registerer, &m.computations),
		series.Register(registerer, &m.computationTime),
		series.Register(registerer, &m.objects),
		series.Register(registerer, &m.staleSkips),
		series.Register(registerer, &m.stale),
		series.Register(registerer, &m.versionsBack),
		series.Register(registerer, &m.running),
		series.Register(registerer, &m.contested),
		series.Register(registerer, &m.foreignWrites),
		series.Register(registerer, &m.overtaken),
		series.Register(registerer, &m.outdated),
		series.Register(registerer, &m.panics),
		series.Register(registerer, &m.shadow),
		series.Register(registerer, &m.readings),
		series.Register(registerer, &m.standIns),
		series.Register(registerer, &m.unreadable),
		series.Register(registerer, &m.parts),
		series.Register(registerer, &m.lateness),
		series.Register(registerer, &m.startup),
		series.Register(registerer, &m.toReady),
	)
}

func (m *metrics) reconciled(action, failure string, took time.Duration) {
	m.reconciliations.WithLabelValues(action, failure).Inc()
	m.reconciliationTime.WithLabelValues(action, failure).Observe(took.Seconds())
}

func (m *metrics) computed(action, failure, kind string, took time.Duration) {
	m.computations.WithLabelValues(action, failure, kind).Inc()
	m.computationTime.WithLabelValues(action, failure, kind).Observe(took.Seconds())
}

// actionOf is the label for a change from one count to another.
func actionOf(from, to int32) string {
	switch {
	case to > from:
		return actionUp
	case to < from:
		return actionDown
	default:
		return actionNone
	}
}
