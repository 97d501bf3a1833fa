package updater

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// metrics has upstream's series with their names and labels, and Plimsoll's own.
type metrics struct {
	controlled, evictable, withEvictable, withEvicted *prometheus.GaugeVec
	resizable, withResizable, withResized             *prometheus.GaugeVec
	evicted, failedEvictions                          *prometheus.CounterVec
	resized, failedResizes, infeasible                *prometheus.CounterVec
	lease                                             *prometheus.CounterVec
	latency                                           *prometheus.HistogramVec

	// blocked counts the pods that the last pass should have changed and did not, by the reason.
	blocked *prometheus.GaugeVec
	// waiting is the number of writes of conditions that wait or are in progress.
	waiting prometheus.Gauge
	panics  prometheus.Counter
}

// The labels of upstream's series.
const (
	labelSize      = "vpa_size_log2"
	labelMode      = "update_mode"
	labelReason    = "reason"
	labelName      = "vpa_name"
	labelNamespace = "vpa_namespace"
)

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	const upstream = "vpa_updater"
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: upstream, Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: upstream, Name: name, Help: help}, labels)
	}
	m := &metrics{
		controlled: gauge("controlled_pods_total", "Number of Pods controlled by VPA updater.", labelSize, labelMode),
		evictable:  gauge("evictable_pods_total", "Number of Pods matching eviction criteria.", labelSize, labelMode),
		withEvictable: gauge("vpas_with_evictable_pods_total",
			"Number of VPA objects with at least one Pod matching eviction criteria.", labelSize, labelMode),
		withEvicted: gauge("vpas_with_evicted_pods_total", "Number of VPA objects with at least one evicted Pod.",
			labelSize, labelMode),
		resizable: gauge("in_place_updatable_pods_total", "Number of Pods matching in place update criteria.",
			labelSize),
		withResizable: gauge("vpas_with_in_place_updatable_pods_total",
			"Number of VPA objects with at least one Pod matching in place update criteria.", labelSize),
		withResized: gauge("vpas_with_in_place_updated_pods_total",
			"Number of VPA objects with at least one in-place updated Pod.", labelSize),
		evicted: counter("evicted_pods_total", "Number of Pods evicted by Updater to apply a new recommendation.",
			labelSize, labelMode, labelName, labelNamespace),
		failedEvictions: counter("failed_eviction_attempts_total", "Number of failed attempts to update Pods by eviction",
			labelSize, labelMode, labelReason, labelName, labelNamespace),
		resized: counter("in_place_updated_pods_total",
			"Number of Pods updated in-place by Updater to apply a new recommendation.", labelSize, labelName, labelNamespace),
		failedResizes: counter("failed_in_place_update_attempts_total", "Number of failed attempts to update Pods in-place.",
			labelSize, labelReason, labelName, labelNamespace),
		infeasible: counter("in_place_infeasible_skip_pods_total", "Number of pods that were skipped for in-place update "+
			"due to cached infeasibility", labelSize, labelName, labelNamespace),
		lease: counter("admission_controller_status_invalid_total",
			"Number of times Updater skipped its main loop because the Admission Controller status Lease was missing, stale "+
				"or otherwise invalid.", labelReason),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: upstream, Name: "execution_latency_seconds",
			Help: "Time spent in various parts of VPA Updater main loop.",
			Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 240,
				300},
		}, []string{"step"}),
		blocked: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "plimsoll", Name: "updater_held_pods",
			Help: "Pods that the last pass should have changed and did not, by the rule that held them back.",
		}, []string{labelReason}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "plimsoll", Name: "updater_conditions_waiting", Help: "Writes of conditions that are pending or in " +
				"progress.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "updater_panics_total", Help: "Panics while an object was processed.",
		}),
	}
	if err := m.register(registerer); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) register(registerer prometheus.Registerer) error {
	if registerer == nil {
		return nil
	}
	for _, each := range []**prometheus.GaugeVec{
		&m.controlled, &m.evictable, &m.withEvictable, &m.withEvicted, &m.resizable, &m.withResizable, &m.withResized,
		&m.blocked,
	} {
		if err := series.Register(registerer, each); err != nil {
			return err
		}
	}
	for _, each := range []**prometheus.CounterVec{&m.evicted, &m.failedEvictions, &m.resized, &m.failedResizes,
		&m.infeasible, &m.lease} {
		if err := series.Register(registerer, each); err != nil {
			return err
		}
	}
	if err := series.Register(registerer, &m.latency); err != nil {
		return err
	}
	if err := series.Register(registerer, &m.waiting); err != nil {
		return err
	}
	return series.Register(registerer, &m.panics)
}

func (m *metrics) conditions() conditionMetrics {
	return conditionMetrics{Waiting: m.waiting, Latency: m.latency.WithLabelValues("WriteConditions")}
}

// stopwatch measures the steps of a pass.
type stopwatch struct {
	m           *metrics
	start, last time.Time
}

func (m *metrics) begin() *stopwatch {
	now := time.Now()
	return &stopwatch{m: m, start: now, last: now}
}

func (s *stopwatch) step(name string) {
	now := time.Now()
	s.m.latency.WithLabelValues(name).Observe(now.Sub(s.last).Seconds())
	s.last = now
}

func (s *stopwatch) total() {
	s.m.latency.WithLabelValues("total").Observe(time.Since(s.start).Seconds())
}

func (m *metrics) invalidLease(err error) {
	why := "invalid"
	if err != nil {
		why = "error"
	}
	m.lease.WithLabelValues(why).Inc()
}

func (m *metrics) countControlled(tasks []*task) {
	m.controlled.Reset()
	for _, t := range tasks {
		size, mode := t.Size(), t.Mode()
		m.controlled.WithLabelValues(size, mode).Add(float64(len(t.Pods)))
		m.evicted.WithLabelValues(size, mode, t.VPA.Name, t.VPA.Namespace).Add(0)
		m.resized.WithLabelValues(size, t.VPA.Name, t.VPA.Namespace).Add(0)
	}
}

func (m *metrics) countPass(tasks []*task) {
	for _, gauge := range []*prometheus.GaugeVec{m.evictable, m.withEvictable, m.withEvicted, m.resizable, m.withResizable,
		m.withResized, m.blocked} {
		gauge.Reset()
	}
	for _, t := range tasks {
		size, mode := t.Size(), t.Mode()
		wanted := len(t.decision.ToUpdate)
		switch {
		case wanted == 0:
		case t.Policy.Mode == vertical.ModeRecreate:
			m.evictable.WithLabelValues(size, mode).Add(float64(wanted))
			m.withEvictable.WithLabelValues(size, mode).Inc()
		default:
			m.resizable.WithLabelValues(size).Add(float64(wanted))
			m.withResizable.WithLabelValues(size).Inc()
		}
		did := map[update.Kind]bool{}
		for i := range t.decision.Pods {
			v := &t.decision.Pods[i]
			did[v.Action] = true
			if v.Reason != reason.None && v.BlockedBy != reason.None {
				m.blocked.WithLabelValues(v.BlockedBy.String()).Inc()
			}
		}
		if did[update.Evict] {
			m.withEvicted.WithLabelValues(size, mode).Inc()
		}
		if did[update.Resize] {
			m.withResized.WithLabelValues(size).Inc()
		}
	}
}

// acted counts an action, with upstream's reasons of failures.
func (m *metrics) acted(t *task, kind update.Kind, outcome update.Outcome) {
	size, mode, name, namespace := t.Size(), t.Mode(), t.VPA.Name, t.VPA.Namespace
	switch {
	case outcome == update.Done && kind == update.Evict:
		m.evicted.WithLabelValues(size, mode, name, namespace).Inc()
	case outcome == update.Done:
		m.resized.WithLabelValues(size, name, namespace).Inc()
	case kind == update.Evict:
		m.failedEvictions.WithLabelValues(size, mode, "EvictionError", name, namespace).Inc()
	case kind == update.Unboost:
		m.failedResizes.WithLabelValues(size, "UnboostError", name, namespace).Inc()
	case outcome == update.Infeasible && t.Policy.Mode == vertical.ModeInPlace:
		m.failedResizes.WithLabelValues(size, "InPlaceUpdateInfeasible", name, namespace).Inc()
	default:
		m.failedResizes.WithLabelValues(size, "InPlaceUpdateError", name, namespace).Inc()
	}
}

// limited counts an action that the rate limit prevented.
func (m *metrics) limited(t *task, kind update.Kind) {
	size, mode, name, namespace := t.Size(), t.Mode(), t.VPA.Name, t.VPA.Namespace
	if kind == update.Evict {
		m.failedEvictions.WithLabelValues(size, mode, "EvictionRateLimiterWaitFailed", name, namespace).Inc()
		return
	}
	m.failedResizes.WithLabelValues(size, "InPlaceUpdateRateLimiterWaitFailed", name, namespace).Inc()
}

func (m *metrics) skipped(t *task) {
	m.infeasible.WithLabelValues(t.Size(), t.VPA.Name, t.VPA.Namespace).Inc()
}

// forget removes the series of a deleted object.
func (m *metrics) forget(object types.NamespacedName) {
	labels := prometheus.Labels{labelName: object.Name, labelNamespace: object.Namespace}
	for _, counter := range []*prometheus.CounterVec{m.evicted, m.failedEvictions, m.resized, m.failedResizes,
		m.infeasible} {
		counter.DeletePartialMatch(labels)
	}
}
