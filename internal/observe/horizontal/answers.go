package horizontal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// The bounds beyond which the response of a metrics API is implausible: a few items for each pod and some for pods that
// the pod cache does not have yet; and more series than a sane external metric has.
const (
	maxItemsPerPod = 10
	maxItemsSpare  = 1000
	maxSeries      = 10000
	// No machine has that much. metrics-server parses a NaN, an infinity and a negative number in a kubelet's text as 2^63
	// or more nanoseconds or bytes, and computes hundreds of millions of CPUs, and exbibytes.
	maxCPUs        = 1e6
	maxMemoryBytes = 1 << 50
)

// defaultWindow is the window of a custom metric without one.
const defaultWindow = time.Minute

// Answers converts the metrics APIs' responses for one decision to readings. It finds pods by name once for all metrics
// and keeps its buffers: readings are valid until the next Reset. It must be used by one goroutine at a time.
type Answers struct {
	policy *horizontal.Policy
	pods   []*observe.Pod
	mode   arithmetic.Mode
	// isExact omits values of other pods.
	isExact bool
	// index maps a pod's name to its index. It is filled when a response is not in the pods' order.
	index   map[string]int
	indexed bool
	buffers []buffer
}

// buffer is the memory of one metric's reading.
type buffer struct {
	samples    []metric.Sample
	recent     []metric.Recent
	earlier    []metric.Sample
	requests   []metric.Request
	extraneous []int64
	series     []int64
}

// NewAnswers is Answers after a Reset.
func NewAnswers(p *horizontal.Policy, pods []*observe.Pod) *Answers {
	a := &Answers{}
	a.Reset(p, pods)
	return a
}

// Reset starts another decision. The pods are those that the scale's selector selects, in the order of
// Observation.Pods.
func (a *Answers) Reset(p *horizontal.Policy, pods []*observe.Pod) {
	a.policy, a.pods, a.mode, a.indexed, a.isExact = p, pods, observe.ModeOf(p.Divergences), false, false
	for len(a.buffers) < len(p.Metrics) {
		a.buffers = append(a.buffers, buffer{})
	}
}

// LeaveOutOthers sets whether values of pods that are not among the pods are omitted. Otherwise they count, as
// upstream. It must be called after each Reset.
func (a *Answers) LeaveOutOthers(yes bool) { a.isExact = yes }

// Failed is the reading of a metric whose API returned an error.
func Failed(err error) metric.Reading {
	return metric.Reading{Error: err.Error()}
}

// Resource reads the response for metric i, of type Resource or ContainerResource, from metrics.k8s.io (upstream:
// getPodMetrics, getContainerMetrics). It may have single intervals beside the averages.
func (a *Answers) Resource(i int, list *metricsv1beta1.PodMetricsList) metric.Reading {
	if list == nil || len(list.Items) == 0 {
		return metric.Reading{Empty: true}
	}
	spec := &a.policy.Metrics[i]
	about := aboutOf(list, spec)
	if text := a.implausible(numberAbout(list, about)); text != "" {
		return metric.Reading{Error: text}
	}
	s := a.samples(i)
	for n := range list.Items {
		item := &list.Items[n]
		if item.Annotations[ContainerAnnotation] != about {
			continue
		}
		if text := a.foreign("pod", item.Name, item.Namespace); text != "" {
			return metric.Reading{Error: text}
		}
		if text := a.excessive(item); text != "" {
			return metric.Reading{Error: text}
		}
		used, found := a.usage(s, item, spec)
		sample := metric.Sample{
			Present: found, Milli: used, At: item.Timestamp.Time, Window: item.Window.Duration,
		}
		isCPU := spec.Name == source.CPU
		switch {
		case IsInterval(item) && isCPU:
			s.keep(item.Name, sample)
		case isEarlier(item) && isCPU:
			s.keepEarlier(item.Name, sample)
		case IsInterval(item), isEarlier(item):
		case found:
			s.put(item.Name, sample)
		}
	}
	s.cutRecent()
	a.markNoContainer(spec, s.reading.Samples)
	s.reading.Requests = a.requests(i)
	return s.reading
}

// markNoContainer marks the samples of pods that do not have the container which the metric names.
func (a *Answers) markNoContainer(spec *source.Spec, of []metric.Sample) {
	if spec.Container == "" {
		return
	}
	for i := range of {
		of[i].NoContainer = !of[i].Present && !a.pods[i].RunsThroughout(spec.Container)
	}
}

// excessive describes a value that no container can have used. An impossible value of one resource discredits the
// others: after two impossible values of CPU time in a row metrics-server reports a use of 0.
func (a *Answers) excessive(item *metricsv1beta1.PodMetrics) string {
	if !a.doubts() {
		return ""
	}
	for i := range item.Containers {
		for name, q := range item.Containers[i].Usage {
			used := q.AsApproximateFloat64()
			if name == corev1.ResourceCPU && used > maxCPUs || name == corev1.ResourceMemory && used > maxMemoryBytes {
				return fmt.Sprintf("implausible value of container %s of pod %s: %s of %s", item.Containers[i].Name, item.Name,
					q.String(), name)
			}
		}
	}
	return ""
}

// usage returns the use of a pod. A container without a sample leaves its pod without one (upstream: getPodMetrics),
// unless it is an init container: for one that has ended, some sources have the memory and no CPU.
func (a *Answers) usage(s *samples, item *metricsv1beta1.PodMetrics, spec *source.Spec) (sum int64, found bool) {
	sum, found = usage(item, spec, a.mode, nil)
	if found || !a.policy.Divergences.Has(divergence.InitContainers) {
		return sum, found
	}
	if i, isKnown := s.find(item.Name); isKnown {
		return usage(item, spec, a.mode, a.pods[i])
	}
	return 0, false
}

// usage returns the use of the pod, or of the named container in it. A pod with a container without a value has none.
func usage(
	item *metricsv1beta1.PodMetrics, spec *source.Spec, mode arithmetic.Mode, of *observe.Pod,
) (sum int64, found bool) {
	name := corev1.ResourceName(spec.Name)
	for i := range item.Containers {
		c := &item.Containers[i]
		if spec.Container != "" && c.Name != spec.Container {
			continue
		}
		q, has := c.Usage[name]
		if !has && of != nil && !of.RunsThroughout(c.Name) {
			continue
		}
		if !has {
			return 0, false
		}
		if spec.Container != "" {
			return observe.Milli(&q, mode), true
		}
		sum, found = mode.Add(sum, observe.Milli(&q, mode)), true
	}
	return sum, found
}

// Pods reads the answer to metric i, of type Pods, from custom.metrics.k8s.io
// (upstream: GetRawMetric).
func (a *Answers) Pods(i int, list *custommetricsv1beta2.MetricValueList) metric.Reading {
	if list == nil || len(list.Items) == 0 {
		return metric.Reading{Empty: true}
	}
	if text := a.implausible(len(list.Items)); text != "" {
		return metric.Reading{Error: text}
	}
	spec, s := &a.policy.Metrics[i], a.samples(i)
	for n := range list.Items {
		item := &list.Items[n]
		if text := a.foreignValue(spec, item); text != "" {
			return metric.Reading{Error: text}
		}
		window := defaultWindow
		if item.WindowSeconds != nil {
			window = time.Duration(*item.WindowSeconds) * time.Second
		}
		s.put(item.DescribedObject.Name, metric.Sample{
			Present: true, Milli: observe.Milli(&item.Value, a.mode), At: item.Timestamp.Time, Window: window,
		})
	}
	return s.reading
}

// Object reads the answer to metric i, of type Object, from
// custom.metrics.k8s.io.
func (a *Answers) Object(i int, value *custommetricsv1beta2.MetricValue) metric.Reading {
	if value == nil {
		return metric.Reading{Empty: true}
	}
	spec := &a.policy.Metrics[i]
	if text := a.foreignValue(spec, value); text != "" {
		return metric.Reading{Error: text}
	}
	b := &a.buffers[i]
	b.series = append(b.series[:0], observe.Milli(&value.Value, a.mode))
	return metric.Reading{Series: b.series, At: value.Timestamp.Time}
}

// External reads the answer to metric i, of type External, from
// external.metrics.k8s.io.
func (a *Answers) External(i int, list *externalmetricsv1beta1.ExternalMetricValueList) metric.Reading {
	if list == nil || len(list.Items) == 0 {
		return metric.Reading{Empty: true}
	}
	if a.doubts() && len(list.Items) > maxSeries {
		return metric.Reading{Error: fmt.Sprintf("%d series where at most %d are plausible", len(list.Items), maxSeries)}
	}
	spec, b := &a.policy.Metrics[i], &a.buffers[i]
	b.series = b.series[:0]
	newest := list.Items[0].Timestamp.Time
	for n := range list.Items {
		item := &list.Items[n]
		if text := a.otherMetric(spec, item.MetricName); text != "" {
			return metric.Reading{Error: text}
		}
		b.series = append(b.series, observe.Milli(&item.Value, a.mode))
		if item.Timestamp.After(newest) {
			newest = item.Timestamp.Time
		}
	}
	return metric.Reading{Series: b.series, At: newest}
}

// doubts reports whether responses are checked against their requests. Upstream accepts every response.
func (a *Answers) doubts() bool { return a.policy.Divergences.Has(divergence.RejectImplausible) }

func (a *Answers) implausible(items int) string {
	limit := maxItemsPerPod*len(a.pods) + maxItemsSpare
	if !a.doubts() || items <= limit {
		return ""
	}
	return fmt.Sprintf("%d items for %d pods", items, len(a.pods))
}

// foreign describes an item of another namespace. Some adapters omit the namespace.
func (a *Answers) foreign(kind, name, namespace string) string {
	if !a.doubts() || namespace == "" || namespace == a.policy.Namespace {
		return ""
	}
	return fmt.Sprintf("the answer holds %s %s of namespace %s", kind, name, namespace)
}

func (a *Answers) foreignValue(spec *source.Spec, v *custommetricsv1beta2.MetricValue) string {
	if text := a.otherMetric(spec, v.Metric.Name); text != "" {
		return text
	}
	return a.foreign(strings.ToLower(v.DescribedObject.Kind), v.DescribedObject.Name, v.DescribedObject.Namespace)
}

// otherMetric describes an item of another metric. Adapters may omit the name or change its case.
func (a *Answers) otherMetric(spec *source.Spec, name string) string {
	if !a.doubts() || name == "" || strings.EqualFold(name, spec.Name) {
		return ""
	}
	return "the answer holds metric " + name
}

// requests returns the pods' requests, if the target of metric i is relative to them.
func (a *Answers) requests(i int) []metric.Request {
	spec, b := &a.policy.Metrics[i], &a.buffers[i]
	if spec.Target.Type != source.Utilization {
		return nil
	}
	b.requests = observe.AppendRequests(b.requests[:0], a.pods, spec, a.policy.Divergences)
	return b.requests
}

// samples is an empty reading of metric i's pods.
func (a *Answers) samples(i int) *samples {
	b := &a.buffers[i]
	b.samples = slices.Grow(b.samples[:0], len(a.pods))[:len(a.pods)]
	clear(b.samples)
	b.extraneous = b.extraneous[:0]
	return &samples{answers: a, buffer: b, reading: metric.Reading{Samples: b.samples}}
}

// samples puts values to their pods.
type samples struct {
	answers *Answers
	buffer  *buffer
	reading metric.Reading
	// next is the expected index of the next pod in a response in the pods' order.
	next int
	// others has the indices of pods that are not among the pods.
	others map[string]int
}

// put keeps a pod's value; of two for one pod the later one, as upstream.
func (s *samples) put(pod string, sample metric.Sample) {
	if i, found := s.find(pod); found {
		s.reading.Samples[i], s.next = sample, i+1
		return
	}
	if s.answers.isExact {
		return
	}
	b := s.buffer
	if i, found := s.others[pod]; found {
		b.extraneous[i] = sample.Milli
		return
	}
	if s.others == nil {
		s.others = map[string]int{}
	}
	s.others[pod] = len(b.extraneous)
	b.extraneous = append(b.extraneous, sample.Milli)
	s.reading.Extraneous = b.extraneous
}

func (s *samples) find(pod string) (int, bool) {
	pods := s.answers.pods
	if s.next < len(pods) && pods[s.next].Name == pod {
		return s.next, true
	}
	i, found := s.answers.byName()[pod]
	return i, found
}

func (a *Answers) byName() map[string]int {
	if a.indexed {
		return a.index
	}
	if a.index == nil {
		a.index = make(map[string]int, len(a.pods))
	}
	clear(a.index)
	for i, pod := range a.pods {
		a.index[pod.Name] = i
	}
	a.indexed = true
	return a.index
}
