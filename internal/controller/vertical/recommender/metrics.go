package recommender

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// metrics are upstream's series by its names and labels, and one of Plimsoll's
// own.
type metrics struct {
	objects    *prometheus.GaugeVec
	aggregates prometheus.Gauge
	latency    prometheus.Histogram
	steps      *prometheus.HistogramVec
	responses  *prometheus.CounterVec
	panics     prometheus.Counter
	shown      *shown
	ooms       *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	const namespace = "vpa_recommender"
	m := &metrics{
		objects: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "vpa_objects_count", Help: "Number of VPA objects present in the cluster.",
		}, []string{"update_mode", "has_recommendation", "api", "matches_pods", "unsupported_config"}),
		aggregates: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "aggregate_container_states_count",
			Help: "Number of aggregate container states being tracked by the recommender",
		}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "recommendation_latency_seconds",
			Help:    "Time elapsed from creating a valid VPA configuration to the first recommendation.",
			Buckets: []float64{1, 2, 5, 7.5, 10, 20, 30, 40, 50, 60, 90, 120, 150, 180, 240, 300, 600, 900, 1800},
		}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "execution_latency_seconds",
			Help: "Time spent in various parts of VPA Recommender main loop.",
			Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 240,
				300},
		}, []string{"step"}),
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "metric_server_responses", Help: "Count of responses to queries to metrics server",
		}, []string{"is_error", "client_name"}),
		shown: newShown(),
		ooms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Subsystem: "plimsoll", Name: "vertical_ooms_total",
			Help: "How often containers of an object's pods ran out of memory.",
		}, []string{"namespace", "vpa_name"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Subsystem: "plimsoll", Name: "recommender_panics_total",
			Help: "Objects that could not be decided because of a defect.",
		}),
	}
	err := errors.Join(series.Register(registerer, &m.objects), series.Register(registerer, &m.aggregates),
		series.Register(registerer, &m.latency),
		series.Register(registerer, &m.steps), series.Register(registerer, &m.responses),
		series.Register(registerer, &m.panics),
		series.Register(registerer, &m.shown), series.Register(registerer, &m.ooms))
	return m, err
}

// Responded counts a response of metrics.k8s.io.
func (m *metrics) Responded(err error) {
	m.responses.WithLabelValues(strconv.FormatBool(err != nil), "metrics.k8s.io").Inc()
}

// first notes how long an object waited for its first recommendation.
func (m *metrics) first(created time.Time) { m.latency.Observe(time.Since(created).Seconds()) }

// count counts the objects of a whole pass.
func (m *metrics) count(works []*work) {
	m.objects.Reset()
	aggregates := 0
	for _, w := range works {
		mode := vpav1.UpdateModeRecreate
		if p := w.object.Spec.UpdatePolicy; p != nil && p.UpdateMode != nil && *p.UpdateMode != "" {
			mode = *p.UpdateMode
		}
		m.objects.WithLabelValues(string(mode), strconv.FormatBool(len(w.decision.Recommendations) > 0),
			vpav1.SchemeGroupVersion.Version,
			strconv.FormatBool(w.pods > 0), strconv.FormatBool(w.lookup.Problem != "")).Inc()
		aggregates += len(w.track.state.Containers)
	}
	m.aggregates.Set(float64(aggregates))
	m.shown.note(works)
}

// timer measures the steps of a pass.
type timer struct {
	steps       *prometheus.HistogramVec
	began, last time.Time
}

func (m *metrics) timer() *timer {
	now := time.Now()
	return &timer{steps: m.steps, began: now, last: now}
}

func (t *timer) step(name string) {
	now := time.Now()
	t.steps.WithLabelValues(name).Observe(now.Sub(t.last).Seconds())
	t.last = now
}

func (t *timer) total() { t.steps.WithLabelValues("total").Observe(time.Since(t.began).Seconds()) }
