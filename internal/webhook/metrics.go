package webhook

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// status is upstream's name for the result of a request.
type status string

const (
	statusError   status = "error"
	statusSkipped status = "skipped"
	statusApplied status = "applied"
)

// Upstream's names for the kind of a request.
const (
	resourceUnknown = "unknown"
	resourcePod     = "Pod"
	resourceVPA     = "VPA"
)

// Failure is the reason why a request was admitted unchanged.
type Failure string

// Why a request was admitted unchanged.
const (
	// Unreadable is an invalid request, or one about another kind.
	Unreadable Failure = "unreadable"
	// OwnerMissing is a pod whose owner is not in the cache: it is newer than the cache, or deleted.
	OwnerMissing Failure = "owner-missing"
	// OwnerUnknown is a pod whose owner is of a custom kind, whose scale was not requested yet, or without a response.
	OwnerUnknown Failure = "owner-unknown"
	// Unwritable is an answer that cannot be encoded.
	Unwritable Failure = "unwritable"
	// Inadmissible is a pod that the API server would refuse with the recommended resources.
	Inadmissible Failure = "inadmissible"
	// Panicked is a defect of Plimsoll's.
	Panicked Failure = "panic"
)

var failures = [...]Failure{Unreadable, OwnerMissing, OwnerUnknown, Unwritable, Inadmissible, Panicked}

// Metrics are the server's: upstream's, and one more.
type Metrics struct {
	pods     *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		pods: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vpa_admission_controller_admission_pods_total",
			Help: "Pods admitted, by whether they were patched.",
		}, []string{"applied"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vpa_admission_controller_admission_latency_seconds",
			Help:    "Time from a request to its response.",
			Buckets: []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}, []string{"status", "resource"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plimsoll_admission_unchanged_total",
			Help: "Requests admitted unchanged because of an error, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range failures {
		m.failures.WithLabelValues(string(reason))
	}
	if err := errors.Join(registerer.Register(m.pods), registerer.Register(m.latency),
		registerer.Register(m.failures)); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}

func (m *Metrics) unchanged(reason Failure) { m.failures.WithLabelValues(string(reason)).Inc() }

func (m *Metrics) observe(a answer, took time.Duration) {
	m.latency.WithLabelValues(string(a.status), a.resource).Observe(took.Seconds())
	if a.resource == resourcePod && a.status != statusError {
		m.pods.WithLabelValues(strconv.FormatBool(a.status == statusApplied)).Inc()
	}
}
