package monitor

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// upstreamSubsystem is the prefix of upstream's series.
const upstreamSubsystem = "horizontal_pod_autoscaler_controller"

// maxListed is the number of HPAs with series of their own besides upstream's. It bounds the series that Prometheus
// stores in large clusters; plimsoll_horizontal_unlisted_objects counts the rest.
const maxListed = 10_000

// lastDecisions has upstream's series of each HPA's desired replica count, and the inputs of its last decision. It
// creates the series when Prometheus scrapes them: the stored numbers take less memory than series do.
type lastDecisions struct {
	hpas, workloads objectSeries
	// fallbacks exists for WorkloadAutoscalers only.
	fallbacks *prometheus.Desc
	unlisted  *prometheus.Desc
	forecasts forecastSeries

	// mu guards the following.
	mu   sync.Mutex
	last map[observe.Key]*lastDecision
}

// objectSeries are the series of one object of a kind.
type objectSeries struct{ desired, proposed, bound, age, current, ready *prometheus.Desc }

func newObjectSeries(desired, prefix, what string, object []string) objectSeries {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, append(slices.Clone(object), labels...), nil)
	}
	return objectSeries{
		desired: prometheus.NewDesc(desired, "Current desired replica count for "+what+" objects.", object, nil),
		proposed: desc("proposed_replicas",
			"Replicas that each metric of an object proposed at its last decision, before any "+
				"limit.", "metric_index", "metric_type"),
		bound: desc("bound", "1 for the limit that determined an object's replica count.", "limit"),
		age:   desc("sample_age_seconds", "Age of the newest sample of an object at its last decision."),
		current: desc("current_replicas",
			"Pods of an object's target at its last decision, by the target's scale; absent if that could not be read."),
		ready: desc("ready_pods",
			"Ready pods of an object's target at its last decision; absent if the pods were not read."),
	}
}

func (l *lastDecisions) of(key observe.Key) *objectSeries {
	if key.Kind == observe.WorkloadAutoscaler {
		return &l.workloads
	}
	return &l.hpas
}

// lastDecision is the result of an HPA's last decision.
type lastDecision struct {
	proposals []proposal
	// age is the age of the newest sample that has a timestamp.
	age time.Duration
	// desired is that of the last decision with a replica count, if there was one.
	desired             int32
	binds               projection.Limit
	isSampled, hasCount bool
	// fallbacks is the number of metrics whose fallbacks are active; hasFallbacks is set if a metric has one.
	fallbacks    int
	hasFallbacks bool
	forecast     lastForecast
	// current and ready count the pods of the target; nil if they were not read.
	current, ready *int32
}

// proposal is the replica count that one metric proposes; none if it failed.
type proposal struct {
	kind     string
	replicas int32
	failed   bool
}

var _ prometheus.Collector = (*lastDecisions)(nil)

func newLastDecisions() *lastDecisions {
	return &lastDecisions{
		hpas: newObjectSeries(prometheus.BuildFQName("", upstreamSubsystem, "desired_replicas"),
			"plimsoll_horizontal_", "HPA", []string{"namespace", "hpa_name"}),
		workloads: newObjectSeries("plimsoll_workload_desired_replicas", "plimsoll_workload_", "WorkloadAutoscaler",
			[]string{"namespace", "name"}),
		fallbacks: prometheus.NewDesc("plimsoll_workload_fallbacks_active",
			"Active fallbacks of an object's metrics.", []string{"namespace", "name"}, nil),
		unlisted: prometheus.NewDesc("plimsoll_horizontal_unlisted_objects",
			"Objects without series of their own because there are too many objects.", nil, nil),
		forecasts: newForecastSeries(), last: map[observe.Key]*lastDecision{},
	}
}

// record records a decision; desired is nil if it has no replica count.
func (l *lastDecisions) record(key observe.Key, specs []source.Spec, d *horizontal.Decision, desired *int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[key]
	if last == nil {
		last = &lastDecision{}
		l.last[key] = last
	}
	if desired != nil {
		last.desired, last.hasCount = *desired, true
	}
	last.proposals, last.binds = last.proposals[:0], projection.BindingLimit(d)
	var sampled time.Time
	for i := range d.Metrics {
		m := &d.Metrics[i]
		last.proposals = append(last.proposals,
			proposal{kind: string(specs[i].Type), replicas: m.Replicas, failed: m.Failure != nil || m.Pending})
		if m.At.After(sampled) {
			sampled = m.At
		}
	}
	last.age, last.isSampled = d.At.Sub(sampled), !sampled.IsZero()
	last.fallbacks, last.forecast = len(d.Fallbacks.Active), lastForecastOf(d)
	last.hasFallbacks = slices.ContainsFunc(specs, func(s source.Spec) bool { return s.Fallback.FailureDuration > 0 })
}

func (l *lastDecisions) recordPods(key observe.Key, o *horizontal.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[key]
	if last == nil {
		return
	}
	last.current, last.ready = nil, nil
	if o.Target.Error != "" {
		return
	}
	current := o.Target.StatusReplicas
	last.current = &current
	if len(o.Pods) > 0 || current == 0 {
		n := ready(o.Pods)
		last.ready = &n
	}
}

func (l *lastDecisions) forget(key observe.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, key)
}

// Describe implements prometheus.Collector.
func (l *lastDecisions) Describe(to chan<- *prometheus.Desc) {
	to <- l.unlisted
	to <- l.fallbacks
	l.forecasts.describe(to)
	for _, of := range []*objectSeries{&l.hpas, &l.workloads} {
		for _, desc := range []*prometheus.Desc{of.desired, of.proposed, of.bound, of.age, of.current, of.ready} {
			to <- desc
		}
	}
}

// Collect implements prometheus.Collector. It locks for one HPA at a time, so that decisions do not wait for the whole
// scrape.
func (l *lastDecisions) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	keys := l.keys()
	gauge(l.unlisted, float64(max(0, len(keys)-maxListed)))
	var forecasts forecastSum
	defer func() { l.forecasts.collect(&forecasts, gauge) }()
	for i, key := range keys {
		last, isThere := l.read(key)
		if !isThere {
			continue
		}
		forecasts.add(&last.forecast)
		of := l.of(key)
		if last.hasCount {
			gauge(of.desired, float64(last.desired), key.Namespace, key.Name)
		}
		if i >= maxListed {
			continue
		}
		gauge(of.bound, 1, key.Namespace, key.Name, last.binds.Name())
		if last.isSampled {
			gauge(of.age, last.age.Seconds(), key.Namespace, key.Name)
		}
		if last.current != nil {
			gauge(of.current, float64(*last.current), key.Namespace, key.Name)
		}
		if last.ready != nil {
			gauge(of.ready, float64(*last.ready), key.Namespace, key.Name)
		}
		if last.hasFallbacks {
			gauge(l.fallbacks, float64(last.fallbacks), key.Namespace, key.Name)
		}
		for k, proposed := range last.proposals {
			if !proposed.failed {
				gauge(of.proposed, float64(proposed.replicas), key.Namespace, key.Name, strconv.Itoa(k), proposed.kind)
			}
		}
	}
}

// keys returns the HPAs with the first maxListed in front. These are the same each time: otherwise every scrape would
// start new series.
func (l *lastDecisions) keys() []observe.Key {
	l.mu.Lock()
	keys := slices.AppendSeq(make([]observe.Key, 0, len(l.last)), maps.Keys(l.last))
	l.mu.Unlock()
	if len(keys) > maxListed {
		slices.SortFunc(keys, func(a, b observe.Key) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return keys
}

// read returns a copy of an HPA's last decision; false if the HPA is gone.
func (l *lastDecisions) read(key observe.Key) (lastDecision, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[key]
	if last == nil {
		return lastDecision{}, false
	}
	copied := *last
	copied.proposals = slices.Clone(last.proposals)
	return copied, true
}
