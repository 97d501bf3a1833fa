package horizontal

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/outlook"
)

// maxListed is how many objects have series of their own. What Prometheus keeps must
// not grow with a cluster without end; plimsoll_horizontal_unlisted_objects says how
// many are left out.
const maxListed = 10_000

// parts are the parts of each object's last decision, as series that are made when
// somebody scrapes them: a decision only notes its numbers.
type parts struct {
	proposed, bound, age, unlisted *prometheus.Desc

	// mu guards what follows.
	mu   sync.Mutex
	last map[types.NamespacedName]*part
}

// part is what one decision came to.
type part struct {
	proposals []proposed
	binds     outlook.Limit
	// sampled is the newest sample that counts; zero if none says.
	decided, sampled time.Time
}

// proposed is what one metric wants; nothing if it failed.
type proposed struct {
	kind     string
	replicas int32
	failed   bool
}

var _ prometheus.Collector = (*parts)(nil)

func newParts() *parts {
	object := []string{"namespace", "hpa_name"}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("plimsoll_horizontal_"+name, help, append(slices.Clone(object), labels...), nil)
	}
	return &parts{
		proposed: desc("proposed_replicas", "What each metric of an object wanted at its last decision, before any limit.", "metric_index", "metric_type"),
		bound:    desc("bound", "1 for the limit that made an object's count what it is.", "limit"),
		age:      desc("sample_age_seconds", "How old the newest sample of an object was at its last decision."),
		unlisted: prometheus.NewDesc("plimsoll_horizontal_unlisted_objects", "Objects without series of their own, as there are too many.", nil, nil),
		last:     map[types.NamespacedName]*part{},
	}
}

// note remembers a decision.
func (p *parts) note(object types.NamespacedName, specs []metric.Spec, d *decide.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[object]
	if last == nil {
		last = &part{}
		p.last[object] = last
	}
	last.proposals, last.binds, last.decided, last.sampled = last.proposals[:0], outlook.Binds(d), d.At, time.Time{}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		last.proposals = append(last.proposals, proposed{kind: string(specs[i].Type), replicas: m.Replicas, failed: m.Failure != nil})
		if m.At.After(last.sampled) {
			last.sampled = m.At
		}
	}
}

func (p *parts) forget(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, object)
}

// Describe implements prometheus.Collector.
func (p *parts) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{p.proposed, p.bound, p.age, p.unlisted} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (p *parts) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	objects := make([]types.NamespacedName, 0, len(p.last))
	for object := range p.last {
		objects = append(objects, object)
	}
	listed := objects
	if len(objects) > maxListed {
		// The same ones each time, or every scrape would begin other series.
		slices.SortFunc(objects, func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		listed = objects[:maxListed]
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(p.unlisted, float64(len(objects)-len(listed)))
	for _, object := range listed {
		last := p.last[object]
		gauge(p.bound, 1, object.Namespace, object.Name, last.binds.Name())
		if !last.sampled.IsZero() {
			gauge(p.age, last.decided.Sub(last.sampled).Seconds(), object.Namespace, object.Name)
		}
		for i, proposal := range last.proposals {
			if !proposal.failed {
				gauge(p.proposed, float64(proposal.replicas), object.Namespace, object.Name, strconv.Itoa(i), proposal.kind)
			}
		}
	}
}
