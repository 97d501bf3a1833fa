package recommender

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// Series has the recommender's series. It is safe for concurrent use.
type Series struct {
	objects         *prometheus.GaugeVec
	aggregates      prometheus.Gauge
	latency         prometheus.Histogram
	steps           *prometheus.HistogramVec
	responses       *prometheus.CounterVec
	panics          prometheus.Counter
	recommendations *recommendations
	ooms            *prometheus.CounterVec
}

// NewSeries registers the series.
func NewSeries(registerer prometheus.Registerer) (*Series, error) {
	const namespace = "vpa_recommender"
	s := &Series{
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
		recommendations: newRecommendations(),
		ooms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Subsystem: "plimsoll", Name: "vertical_ooms_total",
			Help: "Out-of-memory kills of the containers of an object's pods.",
		}, []string{"namespace", "vpa_name"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Subsystem: "plimsoll", Name: "recommender_panics_total",
			Help: "Panics while an object was decided.",
		}),
	}
	err := errors.Join(series.Register(registerer, &s.objects), series.Register(registerer, &s.aggregates),
		series.Register(registerer, &s.latency),
		series.Register(registerer, &s.steps), series.Register(registerer, &s.responses),
		series.Register(registerer, &s.panics),
		series.Register(registerer, &s.recommendations), series.Register(registerer, &s.ooms))
	return s, err
}

// Responded counts a response of metrics.k8s.io.
func (s *Series) Responded(err error) {
	s.responses.WithLabelValues(strconv.FormatBool(err != nil), "metrics.k8s.io").Inc()
}

// Recommended observes the time from a VerticalPodAutoscaler's creation to its first recommendation.
func (s *Series) Recommended(created time.Time) { s.latency.Observe(time.Since(created).Seconds()) }

// Panicked counts a panic that left one VerticalPodAutoscaler undecided.
func (s *Series) Panicked() { s.panics.Inc() }

// OutOfMemory counts the containers of a VerticalPodAutoscaler's pods that ran out of memory.
func (s *Series) OutOfMemory(name types.NamespacedName, containers int) {
	s.ooms.WithLabelValues(name.Namespace, name.Name).Add(float64(containers))
}

// Forget removes the series of a deleted VerticalPodAutoscaler.
func (s *Series) Forget(name types.NamespacedName) {
	s.ooms.DeleteLabelValues(name.Namespace, name.Name)
}

// Passed updates the series after a pass over all VerticalPodAutoscalers, in the order of their names.
func (s *Series) Passed(outcomes []outcomeOfPass) {
	s.objects.Reset()
	aggregates := 0
	for i := range outcomes {
		o := &outcomes[i]
		mode := vpav1.UpdateModeRecreate
		if p := o.VPA.Spec.UpdatePolicy; p != nil && p.UpdateMode != nil && *p.UpdateMode != "" {
			mode = *p.UpdateMode
		}
		s.objects.WithLabelValues(string(mode), strconv.FormatBool(len(o.Decision.Recommendations) > 0),
			vpav1.SchemeGroupVersion.Version,
			strconv.FormatBool(o.HasPods), strconv.FormatBool(o.LookupFailed)).Inc()
		aggregates += o.Containers
	}
	s.aggregates.Set(float64(aggregates))
	s.recommendations.set(outcomes)
}

// PassTimer measures the steps of a pass.
type PassTimer struct {
	steps       *prometheus.HistogramVec
	began, last time.Time
}

// StartTimer starts a PassTimer at the start of a pass.
func (s *Series) StartTimer() *PassTimer {
	now := time.Now()
	return &PassTimer{steps: s.steps, began: now, last: now}
}

// Step observes the time since the last step.
func (t *PassTimer) Step(name string) {
	now := time.Now()
	t.steps.WithLabelValues(name).Observe(now.Sub(t.last).Seconds())
	t.last = now
}

// Total observes the time since the start of the pass.
func (t *PassTimer) Total() { t.steps.WithLabelValues("total").Observe(time.Since(t.began).Seconds()) }
