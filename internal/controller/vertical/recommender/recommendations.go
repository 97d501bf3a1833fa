package recommender

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// maxListed is the number of VerticalPodAutoscalers with series of their own, in the order of their names. It bounds
// the series that Prometheus stores in large clusters.
const maxListed = 5000

// recommendations are those of the last pass over all VerticalPodAutoscalers. Collect creates their series when
// Prometheus scrapes them.
type recommendations struct {
	target, capped, unlistedObjects *prometheus.Desc

	// mu guards the following.
	mu         sync.Mutex
	containers []listedContainer
	unlisted   int
}

// listedContainer is the recommendation for one container.
type listedContainer struct {
	namespace, vpa, name string
	target               vertical.Amounts
	capped               [vertical.Resources]bool
}

var _ prometheus.Collector = (*recommendations)(nil)

func newRecommendations() *recommendations {
	labels := []string{"namespace", "vpa_name", "container", "resource"}
	return &recommendations{
		target: prometheus.NewDesc("plimsoll_vertical_target", "The recommended request of a container: cores, or bytes.",
			labels, nil),
		capped: prometheus.NewDesc("plimsoll_vertical_capped",
			"1 if maxAllowed or a flag's maximum caps the recommendation.", labels, nil),
		unlistedObjects: prometheus.NewDesc("plimsoll_vertical_unlisted_objects",
			"Objects without series of their own because there are too many objects.", nil, nil),
	}
}

func (r *recommendations) set(outcomes []outcomeOfPass) {
	listed := outcomes[:min(len(outcomes), maxListed)]
	var containers []listedContainer
	for i := range listed {
		o := &listed[i]
		for at := range o.Decision.Recommendations {
			containers = append(containers, o.container(at))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers, r.unlisted = containers, len(outcomes)-len(listed)
}

func (o *outcomeOfPass) container(at int) listedContainer {
	rec := &o.Decision.Recommendations[at]
	one := listedContainer{namespace: o.VPA.Namespace, vpa: o.VPA.Name, name: rec.Container, target: rec.Target}
	trace := o.Decision.TraceOf(rec.Container)
	if trace == nil {
		return one
	}
	for r := range vertical.Resource(vertical.Resources) {
		e := &trace.Estimates[r][estimate.Target]
		one.capped[r] = e.Capped < e.Rounded
	}
	return one
}

// Describe implements prometheus.Collector.
func (r *recommendations) Describe(to chan<- *prometheus.Desc) {
	to <- r.target
	to <- r.capped
	to <- r.unlistedObjects
}

// Collect implements prometheus.Collector.
func (r *recommendations) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(r.unlistedObjects, float64(r.unlisted))
	for i := range r.containers {
		c := &r.containers[i]
		for resource := range vertical.Resource(vertical.Resources) {
			amount, ok := c.target.Get(resource)
			if !ok {
				continue
			}
			gauge(r.target, float64(amount)/usage.UnitsOf(resource), c.namespace, c.vpa, c.name, resource.String())
			if c.capped[resource] {
				gauge(r.capped, 1, c.namespace, c.vpa, c.name, resource.String())
			}
		}
	}
}
