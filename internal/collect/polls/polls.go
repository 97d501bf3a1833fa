// Package polls has the Prometheus metrics about the servers that Plimsoll polls for metrics of objects: Prometheus and
// external scalers. They have no labels of servers or objects, whose number authors of objects choose.
package polls

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/series"
)

// Result is the result of a poll.
type Result int

// The results of polls.
const (
	Success Result = iota
	// Empty is an answer without a number.
	Empty
	Failure
	results
)

func (r Result) String() string { return [results]string{"success", "empty", "failure"}[r] }

// Series are the metrics about polls of one type.
type Series struct {
	polls             [results]prometheus.Counter
	duration          prometheus.Observer
	answered, failing prometheus.Gauge
}

// New registers the metrics about one type of polls; a nil registerer registers nothing. The types share the metrics,
// apart from a label.
func New(registerer prometheus.Registerer, metricType string) (*Series, error) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "plimsoll",
		Name: "metric_server_polls_total",
		Help: "Polls of servers for Prometheus and ExternalScaler metrics. The label 'result' is 'success', 'empty' " +
			"if the result of a query is empty, NaN or infinite, or 'failure'."}, []string{"metric_type", "result"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: "plimsoll",
		Name:    "metric_server_poll_duration_seconds",
		Help:    "The duration of these polls, including failed ones.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}, []string{"metric_type"})
	metrics := prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "plimsoll",
		Name: "metric_server_metrics",
		Help: "Metrics of objects that are read from these servers. The label 'state' is 'answered', or 'failing' if the " +
			"metric cannot be read."}, []string{"metric_type", "state"})
	var err error
	if registerer != nil {
		err = errors.Join(
			series.Register(registerer, &total),
			series.Register(registerer, &duration),
			series.Register(registerer, &metrics),
		)
	}
	s := &Series{
		duration: duration.WithLabelValues(metricType),
		answered: metrics.WithLabelValues(metricType, "answered"),
		failing:  metrics.WithLabelValues(metricType, "failing"),
	}
	for result := range results {
		s.polls[result] = total.WithLabelValues(metricType, result.String())
	}
	return s, err
}

// Polled counts a poll.
func (s *Series) Polled(took time.Duration, result Result) {
	s.polls[result].Inc()
	s.duration.Observe(took.Seconds())
}

// Counts counts the metrics of objects, without those that wait for their first response.
type Counts struct{ answered, failing int }

// Add counts a metric with a value, or with an error.
func (c *Counts) Add(err error) {
	if err != nil {
		c.failing++
	} else {
		c.answered++
	}
}

// Metrics sets the number of metrics.
func (s *Series) Metrics(c Counts) {
	s.answered.Set(float64(c.answered))
	s.failing.Set(float64(c.failing))
}
