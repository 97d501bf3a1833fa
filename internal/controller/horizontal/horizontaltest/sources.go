package horizontaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// OwnMetrics has fake sources of the metrics that Plimsoll reads itself: pods that are scraped every second, and
// servers with a settable response.
type OwnMetrics struct {
	w *World

	// mu guards the following.
	mu sync.Mutex
	// Milli is the value on each pod's page, rate has the pages read so far; broken pods do not respond.
	Milli  int64
	pages  map[string][]page
	Broken map[string]bool
	// SilentMilli is the last value of pods without a page; 0 if they have none.
	SilentMilli int64
	// Followed has the pods of objects to scrape, scraped those that were; sample is the number of sampled pods, 0 for
	// all.
	Followed map[observe.Key][]*observe.Pod
	scraped  map[observe.Key]bool
	Sample   int
	// Others has the pods of objects that are not their targets', and OtherMilli is the value on the page of each.
	Others     map[observe.Key][]*observe.Pod
	OtherMilli int64
	// UrgentPods has the pods of calls of Urgent.
	UrgentPods []string
	// Answer is the response of the servers.
	Answer sources.Answer
	// specs has the metrics of each object that each source collects.
	specs map[string]map[observe.Key][]sources.Spec
	// running counts the running sources; pushed and sampled are their callbacks.
	running         int
	Sampled, pushed func(observe.Key)
}

// page is a page that was read from a pod.
type page struct {
	at    time.Time
	milli int64
}

// OwnMetrics returns sources that have no metrics yet.
func (w *World) OwnMetrics() *OwnMetrics {
	return &OwnMetrics{
		w: w, pages: map[string][]page{}, Broken: map[string]bool{}, Followed: map[observe.Key][]*observe.Pod{},
		scraped: map[observe.Key]bool{}, Others: map[observe.Key][]*observe.Pod{},
		specs: map[string]map[observe.Key][]sources.Spec{"pods": {}, "prometheus": {}, "scalers": {}},
	}
}

// Read is a change of the controller's configuration.
func (o *OwnMetrics) Read(c *controllerhorizontal.Config) {
	c.Own = own.Sources{Pods: ownPods{o}, Prometheus: ownPrometheus{o}, Scalers: ownScalers{o}}
	c.Triggers = true
}

// Change changes what the sources have, under their lock.
func (o *OwnMetrics) Change(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// Push is the scaler's report that there is work.
func (o *OwnMetrics) Push(key observe.Key) {
	o.mu.Lock()
	o.Answer.Activity = metric.Active
	pushed := o.pushed
	o.mu.Unlock()
	pushed(key)
}

// Answered is a new answer of a server.
func (o *OwnMetrics) Answered(key observe.Key) {
	o.mu.Lock()
	sampled := o.Sampled
	o.mu.Unlock()
	sampled(key)
}

// WantSpecs fails the test if the sources collect another number of the object's metrics.
func (o *OwnMetrics) WantSpecs(when string, key observe.Key, want int) {
	o.w.T.Helper()
	o.Change(func() {
		for source, specs := range o.specs {
			if got := len(specs[key]); got != want {
				o.w.T.Errorf("%s: %s collects %d metrics, want %d", when, source, got, want)
			}
		}
	})
}

// WantRunning fails the test if another number of sources runs.
func (o *OwnMetrics) WantRunning(want int) {
	o.w.T.Helper()
	o.Change(func() {
		if o.running != want {
			o.w.T.Errorf("%d sources run, want %d", o.running, want)
		}
	})
}

func (o *OwnMetrics) run(ctx context.Context) {
	o.Change(func() { o.running++ })
	<-ctx.Done()
	o.Change(func() { o.running-- })
}

// setSpecs implements Set for the source of that name.
func (o *OwnMetrics) setSpecs(source string, key observe.Key, specs []sources.Spec) {
	o.Change(func() {
		if len(specs) == 0 {
			delete(o.specs[source], key)
			return
		}
		o.specs[source][key] = specs
	})
}

func (o *OwnMetrics) latest(source string, now time.Time, key observe.Key) sources.Answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.specs[source][key]) == 0 {
		return sources.Answer{IsPending: true}
	}
	answer := o.Answer
	if answer.At.IsZero() {
		answer.At = now
	}
	answer.Asked = now
	return answer
}

type ownPods struct{ *OwnMetrics }

var _ own.Pods = ownPods{}

// Run implements own.Pods.
func (o ownPods) Run(ctx context.Context, sampled func(podendpoint.Sampled)) {
	go o.run(ctx)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, s := range o.scrape() {
			sampled(s)
		}
	}
}

func (o ownPods) scrape() (all []podendpoint.Sampled) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for key, pods := range o.Others {
		for _, p := range pods {
			if !o.Broken[p.Name] {
				all = append(all, podendpoint.Sampled{Key: key, At: now, Before: now.Add(-time.Second), Reporting: len(pods)})
			}
		}
	}
	for key, pods := range o.Followed {
		o.scraped[key] = true
		var answering []*observe.Pod
		for i, p := range pods {
			if (o.Sample == 0 || i < o.Sample) && !o.Broken[p.Name] {
				answering = append(answering, p)
			}
		}
		for _, p := range answering {
			before := time.Time{}
			if read := o.pages[p.Name]; len(read) > 0 {
				before = read[0].at
			}
			o.pages[p.Name] = append([]page{{now, o.Milli}}, o.pages[p.Name]...)
			all = append(all, podendpoint.Sampled{Key: key, At: now, Before: before, Reporting: len(answering)})
		}
	}
	return all
}

// Earlier implements observehorizontal.PodUsage.
func (*ownView) Earlier(int, *source.Spec, arithmetic.Mode) metric.Sample { return metric.Sample{} }

// Set implements own.Pods.
func (o ownPods) Set(key observe.Key, specs []sources.Spec) {
	o.setSpecs("pods", key, specs)
	if len(specs) == 0 {
		o.Change(func() { delete(o.Followed, key); delete(o.scraped, key); delete(o.Others, key) })
	}
}

// Follow implements own.Pods.
func (o ownPods) Follow(key observe.Key, set sources.PodSet, pods []*observe.Pod) {
	if set.IsTarget() {
		o.Change(func() { o.Followed[key] = slices.Clone(pods) })
	} else {
		o.Change(func() { o.Others[key] = slices.Clone(pods) })
	}
}

// Total implements own.Pods: each of the other pods that are not broken has the same value.
func (o ownPods) Total(
	now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod,
) sources.Answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	answer, known := sources.Answer{At: now}, 0
	for _, p := range pods {
		if !o.Broken[p.Name] && p.IsReady() {
			known++
		}
	}
	switch {
	case len(pods) == 0:
		answer.Err = errors.New("no pod of the namespace matches " + spec.Pods.SelectorText())
	case known < len(pods):
		answer.IsLeast, answer.Incomplete = true, fmt.Sprintf("%d of %d pods have no value", len(pods)-known, len(pods))
	}
	answer.Series = []float64{float64(o.OtherMilli) * float64(known) / 1000}
	return answer
}

// Latest implements own.Pods.
func (o ownPods) Latest(
	now time.Time, key observe.Key, _ *sources.PodEndpoint, pods []*observe.Pod, reused observehorizontal.PodUsage,
) (observehorizontal.PodUsage, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.scraped[key] {
		return reused, podendpoint.ErrStarting
	}
	view, _ := reused.(*ownView)
	if view == nil {
		view = &ownView{}
	}
	view.samples, view.recent = view.samples[:0], view.recent[:0]
	for i, p := range pods {
		sample, recent := o.samplesLocked(now, p)
		if !sample.Present && o.Sample > 0 && i >= o.Sample {
			sample.Unsampled = true
		}
		view.samples, view.recent = append(view.samples, sample), append(view.recent, recent)
	}
	return view, nil
}

func (o ownPods) samplesLocked(now time.Time, p *observe.Pod) (sample metric.Sample, recent metric.Recent) {
	var sum, n int64
	for i, read := range o.pages[p.Name] {
		if now.Sub(read.at) > averaging.StableWindow {
			break
		}
		if i < len(recent) {
			recent[i] = metric.Sample{Present: true, Milli: read.milli, At: read.at, Window: time.Second}
		}
		sum, n = sum+read.milli, n+1
	}
	if n == 0 && o.SilentMilli > 0 && o.Broken[p.Name] {
		return metric.Sample{Silent: true, Milli: o.SilentMilli, At: now.Add(-time.Minute), Window: time.Second}, recent
	}
	if n == 0 {
		return sample, recent
	}
	return metric.Sample{
		Present: true, Milli: sum / n, At: o.pages[p.Name][0].at, Window: time.Duration(n) * time.Second,
	}, recent
}

// Urgent implements own.Pods.
func (o ownPods) Urgent(pods []*observe.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range pods {
		o.UrgentPods = append(o.UrgentPods, p.Name)
	}
}

// ownView has the values of some pods.
type ownView struct {
	samples []metric.Sample
	recent  []metric.Recent
}

// IsEmpty implements observehorizontal.PodUsage.
func (v *ownView) IsEmpty() bool {
	for i := range v.samples {
		if v.samples[i].Present {
			return false
		}
	}
	return true
}

// Sample implements observehorizontal.PodUsage.
func (v *ownView) Sample(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Sample {
	return v.samples[pod]
}

// Recent implements observehorizontal.PodUsage.
func (v *ownView) Recent(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Recent {
	return v.recent[pod]
}

type ownPrometheus struct{ *OwnMetrics }

var _ own.Prometheus = ownPrometheus{}

// Run implements own.Prometheus.
func (o ownPrometheus) Run(ctx context.Context, sampled func(observe.Key)) {
	o.Change(func() { o.Sampled = sampled })
	o.run(ctx)
}

// Set implements own.Prometheus.
func (o ownPrometheus) Set(key observe.Key, specs []sources.Spec) {
	o.setSpecs("prometheus", key, specs)
}

// Latest implements own.Prometheus.
func (o ownPrometheus) Latest(now time.Time, key observe.Key, _ *sources.Prometheus) sources.Answer {
	return o.latest("prometheus", now, key)
}

type ownScalers struct{ *OwnMetrics }

var _ own.Scalers = ownScalers{}

// Run implements own.Scalers.
func (o ownScalers) Run(ctx context.Context, _, pushed func(observe.Key)) {
	o.Change(func() { o.pushed = pushed })
	o.run(ctx)
}

// Set implements own.Scalers.
func (o ownScalers) Set(key observe.Key, specs []sources.Spec) { o.setSpecs("scalers", key, specs) }

// Latest implements own.Scalers.
func (o ownScalers) Latest(now time.Time, key observe.Key, _ *sources.ExternalScaler) sources.Answer {
	return o.latest("scalers", now, key)
}

// ErrServer is the error of a server that is down.
var ErrServer = errors.New("connection refused")

// average returns a target of so much for each replica.
func average(text string) plimsollv1alpha1.MetricTarget {
	return plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: ptr.To(resource.MustParse(text))}
}

// OwnMetric returns a metric of that type, with 10 for each replica.
func OwnMetric(kind plimsollv1alpha1.MetricSourceType) plimsollv1alpha1.MetricSpec {
	m := plimsollv1alpha1.MetricSpec{Name: "own", Type: kind}
	switch kind {
	case plimsollv1alpha1.PodEndpointMetricSourceType:
		m.PodEndpoint = &plimsollv1alpha1.PodEndpointMetricSource{
			Port: intstr.FromString("http"), ValueType: plimsollv1alpha1.RateValueType,
			Metric: plimsollv1alpha1.SeriesIdentifier{Name: "hits"}, Target: average("10"),
		}
	case plimsollv1alpha1.PrometheusMetricSourceType:
		m.Prometheus = &plimsollv1alpha1.PrometheusMetricSource{
			ServerAddress: "http://prometheus:9090", Query: "sum(hits)", Target: average("10"),
		}
	case plimsollv1alpha1.ExternalScalerMetricSourceType:
		m.ExternalScaler = &plimsollv1alpha1.ExternalScalerMetricSource{ScalerAddress: "scaler:9090"}
	default:
		panic(fmt.Sprintf("metric of type %s", kind))
	}
	return m
}

// Ownly returns an object with these metrics alone.
func Ownly(
	hpa *autoscalingv2.HorizontalPodAutoscaler, kinds ...plimsollv1alpha1.MetricSourceType,
) *plimsollv1alpha1.WorkloadAutoscaler {
	object := WorkloadOf(hpa)
	object.Spec.Metrics = nil
	for _, kind := range kinds {
		object.Spec.Metrics = append(object.Spec.Metrics, OwnMetric(kind))
	}
	plimsollv1alpha1.SetDefaults(&object.Spec)
	return object
}
