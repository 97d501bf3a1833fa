package recommender

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// maxShown is how many objects have series of their own, in the order of their names:
// what Prometheus keeps must not grow with a cluster without end.
const maxShown = 5000

// shown are the recommendations of the last whole pass, as series that are made when
// somebody scrapes them.
type shown struct {
	target, capped, unlisted *prometheus.Desc

	// mu guards what follows.
	mu   sync.Mutex
	rows []row
	left int
}

// row is a container's.
type row struct {
	namespace, name, container string
	target                     vertical.Amounts
	capped                     [vertical.Resources]bool
}

var _ prometheus.Collector = (*shown)(nil)

func newShown() *shown {
	labels := []string{"namespace", "vpa_name", "container", "resource"}
	return &shown{
		target: prometheus.NewDesc("plimsoll_vertical_target", "What a container is recommended to request: cores, or bytes.",
			labels, nil),
		capped: prometheus.NewDesc("plimsoll_vertical_capped",
			"1 where the owner's or the operator's maximum keeps a recommendation from what use says.", labels, nil),
		unlisted: prometheus.NewDesc("plimsoll_vertical_unlisted_objects",
			"Objects without series of their own, as there are too many.", nil, nil),
	}
}

// note keeps what a whole pass came to.
func (s *shown) note(works []*work) {
	listed := works[:min(len(works), maxShown)]
	var rows []row
	for _, w := range listed {
		for i := range w.decision.Recommendations {
			rows = append(rows, w.row(i))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows, s.left = rows, len(works)-len(listed)
}

// row is what is shown of a recommendation.
func (w *work) row(i int) row {
	rec := &w.decision.Recommendations[i]
	one := row{namespace: w.track.name.Namespace, name: w.track.name.Name, container: rec.Container, target: rec.Target}
	at := slices.IndexFunc(w.decision.Traces, func(t recommend.Trace) bool { return t.Container == rec.Container })
	if at < 0 {
		return one
	}
	for r := range vertical.Resource(vertical.Resources) {
		e := &w.decision.Traces[at].Estimates[r][estimate.Target]
		one.capped[r] = e.Capped < e.Rounded
	}
	return one
}

// Describe implements prometheus.Collector.
func (s *shown) Describe(to chan<- *prometheus.Desc) {
	to <- s.target
	to <- s.capped
	to <- s.unlisted
}

// Collect implements prometheus.Collector.
func (s *shown) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(s.unlisted, float64(s.left))
	for i := range s.rows {
		one := &s.rows[i]
		for r := range vertical.Resource(vertical.Resources) {
			amount, ok := one.target.Get(r)
			if !ok {
				continue
			}
			gauge(s.target, float64(amount)/usage.UnitsOf(r), one.namespace, one.name, one.container, r.String())
			if one.capped[r] {
				gauge(s.capped, 1, one.namespace, one.name, one.container, r.String())
			}
		}
	}
}
