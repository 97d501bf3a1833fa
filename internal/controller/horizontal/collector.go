package horizontal

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
)

// maxListed is how many objects have series of their own besides upstream's. What
// Prometheus keeps must not grow with a cluster without end;
// plimsoll_horizontal_unlisted_objects says how many are left out.
const maxListed = 10_000

// parts are upstream's series of what each object wants and the parts of its last
// decision. They are made when somebody scrapes them: a decision only notes its numbers,
// which takes less memory than series do.
type parts struct {
	desired, proposed, bound, age, unlisted *prometheus.Desc

	// mu guards what follows.
	mu   sync.Mutex
	last map[types.NamespacedName]*part
}

// part is what one object's last decision came to.
type part struct {
	proposals []proposed
	// age is that of the newest sample that counts, if one says when it was taken.
	age time.Duration
	// desired is from the last decision that came to a count, if there was one.
	desired             int32
	binds               projection.Limit
	isSampled, hasCount bool
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
		desired:  prometheus.NewDesc(prometheus.BuildFQName("", upstreamSubsystem, "desired_replicas"), "Current desired replica count for HPA objects.", object, nil),
		proposed: desc("proposed_replicas", "What each metric of an object wanted at its last decision, before any limit.", "metric_index", "metric_type"),
		bound:    desc("bound", "1 for the limit that made an object's count what it is.", "limit"),
		age:      desc("sample_age_seconds", "How old the newest sample of an object was at its last decision."),
		unlisted: prometheus.NewDesc("plimsoll_horizontal_unlisted_objects", "Objects without series of their own, as there are too many.", nil, nil),
		last:     map[types.NamespacedName]*part{},
	}
}

// note remembers a decision; desired is nil if it came to no count.
func (p *parts) note(object types.NamespacedName, specs []source.Spec, d *horizontal.Decision, desired *int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[object]
	if last == nil {
		last = &part{}
		p.last[object] = last
	}
	if desired != nil {
		last.desired, last.hasCount = *desired, true
	}
	last.proposals, last.binds = last.proposals[:0], projection.BindingLimit(d)
	var sampled time.Time
	for i := range d.Metrics {
		m := &d.Metrics[i]
		last.proposals = append(last.proposals, proposed{kind: string(specs[i].Type), replicas: m.Replicas, failed: m.Failure != nil || m.Pending})
		if m.At.After(sampled) {
			sampled = m.At
		}
	}
	last.age, last.isSampled = d.At.Sub(sampled), !sampled.IsZero()
}

func (p *parts) forget(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, object)
}

// Describe implements prometheus.Collector.
func (p *parts) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{p.desired, p.proposed, p.bound, p.age, p.unlisted} {
		to <- desc
	}
}

// Collect implements prometheus.Collector. Decisions wait for no more than one object's
// numbers to be read.
func (p *parts) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	objects := p.objects()
	gauge(p.unlisted, float64(max(0, len(objects)-maxListed)))
	for i, object := range objects {
		last, isThere := p.read(object)
		if !isThere {
			continue
		}
		if last.hasCount {
			gauge(p.desired, float64(last.desired), object.Namespace, object.Name)
		}
		if i >= maxListed {
			continue
		}
		gauge(p.bound, 1, object.Namespace, object.Name, last.binds.Name())
		if last.isSampled {
			gauge(p.age, last.age.Seconds(), object.Namespace, object.Name)
		}
		for k, proposal := range last.proposals {
			if !proposal.failed {
				gauge(p.proposed, float64(proposal.replicas), object.Namespace, object.Name, strconv.Itoa(k), proposal.kind)
			}
		}
	}
}

// objects are all of them. The same ones are listed each time, or every scrape would
// begin other series.
func (p *parts) objects() []types.NamespacedName {
	p.mu.Lock()
	objects := slices.AppendSeq(make([]types.NamespacedName, 0, len(p.last)), maps.Keys(p.last))
	p.mu.Unlock()
	if len(objects) > maxListed {
		slices.SortFunc(objects, func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return objects
}

// read is a copy of an object's part; false if it is gone.
func (p *parts) read(object types.NamespacedName) (part, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[object]
	if last == nil {
		return part{}, false
	}
	copied := *last
	copied.proposals = slices.Clone(last.proposals)
	return copied, true
}
