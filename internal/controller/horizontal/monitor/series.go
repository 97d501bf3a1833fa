// Package monitor has the Prometheus series of the horizontal loop: upstream's with their names and labels, and
// Plimsoll's own.
package monitor

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// The values of upstream's labels action and error.
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
	SourceAgent   = "agent"
	SourceKubelet = "kubelet"
	SourceAPI     = "api"
)

// Series has all of them. The packages that observe an event update the exported ones.
type Series struct {
	reconciliations    *prometheus.CounterVec
	reconciliationTime *prometheus.HistogramVec
	computations       *prometheus.CounterVec
	computationTime    *prometheus.HistogramVec
	decisions          *lastDecisions

	// Running is 1 while this instance decides. Objects counts the HPAs. Lateness is the delay between when a decision was
	// due and when it started.
	Running  prometheus.Gauge
	Objects  prometheus.Gauge
	Lateness prometheus.Histogram

	// Stale counts the HPAs that wait for the cache, VersionRegressions the waits that ended because the cache would never
	// catch up.
	StaleSkips         *prometheus.CounterVec
	Stale              prometheus.Gauge
	VersionRegressions prometheus.Counter

	// Overtaken, Outdated and Panics count decisions that were not carried out.
	Overtaken, Outdated, Panics prometheus.Counter

	// Contested counts the objects that another controller writes, States the HPAs by who acts on them. Shadow counts
	// comparisons with the other controller's decisions.
	Contested     prometheus.Gauge
	States        *prometheus.GaugeVec
	ForeignWrites prometheus.Counter
	Shadow        *prometheus.CounterVec

	// Readings counts decisions by their source of resource metrics. StandIns counts the HPAs whose resource metrics come
	// from metrics.k8s.io instead of kubelets, Unreadable the pods that count as missing because their nodes cannot be
	// read.
	Readings   *prometheus.CounterVec
	StandIns   prometheus.Gauge
	Unreadable prometheus.Gauge

	// Reports counts the reports of external scalers that there is work.
	Reports prometheus.Counter

	Startup *PodStartup
}

func gauge(subsystem, name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help})
}

func newLateness() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Subsystem: "plimsoll", Name: "horizontal_decision_lateness_seconds",
		Help:    "Delay between when a decision was due and when it started.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
	})
}

func newStates() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: "plimsoll", Name: "horizontal_pod_autoscalers",
		Help: "HorizontalPodAutoscalers by who acts on them. The label 'state' is 'acting' for those that plimsoll acts " +
			"on, 'left' for those that it leaves to another controller, or 'undecided'.",
	}, []string{"state"})
}

func counter(subsystem, name, help string, labels []string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
}

func histogram(name, help string, labels []string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: upstreamSubsystem, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
	}, labels)
}

// New creates the series and registers them.
func New(registerer prometheus.Registerer) (*Series, error) {
	const own = "plimsoll"
	result, perMetric := []string{"action", "error"}, []string{"action", "error", "metric_type"}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Subsystem: own, Name: name, Help: help})
	}
	m := &Series{
		reconciliations: counter(upstreamSubsystem, "reconciliations_total",
			"Number of reconciliations of HPA controller. The label 'action' is 'scale_down', 'scale_up', or "+
				"'none'; the label 'error' is 'spec', 'internal', or 'none'.", result),
		reconciliationTime: histogram("reconciliation_duration_seconds",
			"The time(seconds) that the HPA controller takes to reconcile once.", result),
		computations: counter(upstreamSubsystem, "metric_computation_total",
			"Number of metric computations. The label 'metric_type' corresponds to HPA.spec.metrics[*].type.",
			perMetric),
		computationTime: histogram("metric_computation_duration_seconds",
			"The time(seconds) that the HPA controller takes to calculate one metric.", perMetric),
		Objects: gauge(upstreamSubsystem, "num_horizontal_pod_autoscalers",
			"Current number of controlled HPA objects."),
		StaleSkips: counter(upstreamSubsystem, "stale_sync_skips_total",
			"Total number of HPA syncs skipped due to a stale watch cache.", []string{"group", "resource"}),
		Stale: gauge(own, "stale_horizontal_pod_autoscalers",
			"Objects that have not been decided for two sync periods because the cache is behind the last write of "+
				"their status."),
		VersionRegressions: single("resource_version_regressions_total",
			"Objects found to be stored with an older resource version than their last status write had, as after "+
				"etcd was restored."),
		Running: gauge(own, "horizontal_running", "1 while this instance decides, 0 while it waits to lead."),
		States:  newStates(),
		Contested: gauge(own, "contested_horizontal_pod_autoscalers",
			"Objects that are not scaled because another controller writes their status."),
		ForeignWrites: single("foreign_status_writes_total",
			"Writes of the status of HorizontalPodAutoscalers by other controllers."),
		Overtaken: single("overtaken_decisions_total",
			"Decisions given up because the object or its target changed meanwhile."),
		Outdated: single("outdated_decisions_total",
			"Decisions given up because they had waited too long when their scale write could begin."),
		Panics: single("horizontal_panics_total", "Decisions that ended in a panic."),
		Shadow: counter(own, "shadow_comparisons_total",
			"Decisions in shadow mode compared with the other controller's. The label 'result' is 'agree', "+
				"'replicas' or 'conditions', named after what differs.", []string{"result"}),
		Readings: counter(own, "resource_readings_total",
			"Decisions with resource metrics, if kubelets can be read. The label 'source' is 'agent' if all of these came "+
				"from agents of nodes, 'kubelet' if some came from a kubelet, or 'api'.", []string{"source"}),
		Reports: single("external_scaler_reports_total",
			"Reports of work by external scalers, each of which triggers a decision."),
		decisions: newLastDecisions(),
		Startup:   newPodStartup(),
		Lateness:  newLateness(),
		StandIns: gauge(own, "resource_stand_ins",
			"Objects with resource metrics from metrics.k8s.io because a node cannot be read."),
		Unreadable: gauge(own, "resource_unreadable_pods",
			"Ready pods of objects that count as missing because their nodes cannot be read."),
	}
	err := m.register(registerer)
	return m, err
}

func (m *Series) register(registerer prometheus.Registerer) error {
	return errors.Join(
		series.Register(registerer, &m.reconciliations),
		series.Register(registerer, &m.reconciliationTime),
		series.Register(registerer, &m.computations),
		series.Register(registerer, &m.computationTime),
		series.Register(registerer, &m.Objects),
		series.Register(registerer, &m.StaleSkips),
		series.Register(registerer, &m.Stale),
		series.Register(registerer, &m.VersionRegressions),
		series.Register(registerer, &m.Running),
		series.Register(registerer, &m.Contested),
		series.Register(registerer, &m.States),
		series.Register(registerer, &m.ForeignWrites),
		series.Register(registerer, &m.Overtaken),
		series.Register(registerer, &m.Outdated),
		series.Register(registerer, &m.Panics),
		series.Register(registerer, &m.Shadow),
		series.Register(registerer, &m.Readings),
		series.Register(registerer, &m.StandIns),
		series.Register(registerer, &m.Unreadable),
		series.Register(registerer, &m.Reports),
		series.Register(registerer, &m.decisions),
		series.Register(registerer, &m.Lateness),
		series.Register(registerer, &m.Startup.byPart),
		series.Register(registerer, &m.Startup.whole),
	)
}

func (m *Series) reconciled(action, failure string, took time.Duration) {
	m.reconciliations.WithLabelValues(action, failure).Inc()
	m.reconciliationTime.WithLabelValues(action, failure).Observe(took.Seconds())
}

func (m *Series) computed(action, failure, kind string, took time.Duration) {
	m.computations.WithLabelValues(action, failure, kind).Inc()
	m.computationTime.WithLabelValues(action, failure, kind).Observe(took.Seconds())
}

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
