package oracle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	upstreammetrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

const (
	targetPercent = 50
	requestMilli  = 1000
	// batch is how many decisions are timed at once, and batches how many of each
	// side at least: their median shows neither the clock nor who else ran.
	batch = 20
)

// BenchmarkAgainstUpstream is upstream's replica calculator against a complete
// decision of Plimsoll (calculation, stabilization, rates, bounds, and what it
// remembers), in turns, on the same pods and samples: a utilization metric whose
// value moves from decision to decision.
//
// With readings, both sides get what their shells hand them: upstream a map of
// samples and a lister of pods, Plimsoll its observation. With answers, both
// begin with the metrics API's answer and the cached pods. Upstream's lister
// holds these pods only, though in a cluster it walks over the whole namespace.
func BenchmarkAgainstUpstream(b *testing.B) {
	for _, pods := range []int{10, 1000} {
		f := newField(pods)
		b.Run(fmt.Sprintf("from=readings/pods=%d", pods), func(b *testing.B) {
			f.compare(b, f.calculator(f), f.decideReadings())
		})
		b.Run(fmt.Sprintf("from=answers/pods=%d", pods), func(b *testing.B) {
			rest := upstreammetrics.NewRESTMetricsClient(f, nil, nil)
			f.compare(b, f.calculator(rest), f.decideAnswers())
		})
	}
}

// field is what both sides look at.
type field struct {
	// MetricsClient and PodMetricsInterface are nil; what is called stands below.
	upstreammetrics.MetricsClient
	metricsclient.PodMetricsInterface

	pods    []*corev1.Pod
	answer  metricsv1beta1.PodMetricsList
	samples upstreammetrics.PodMetricsInfo
	lister  corelisters.PodLister
	hpa     *autoscalingv2.HorizontalPodAutoscaler
	now     time.Time
}

func newField(pods int) *field {
	f := &field{now: time.Now(), samples: upstreammetrics.PodMetricsInfo{}}
	started := metav1.NewTime(f.now.Add(-time.Hour))
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for i := range pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(requestMilli, resource.DecimalSI)},
			}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
			}},
		}
		must(indexer.Add(pod))
		f.pods = append(f.pods, pod)
		f.answer.Items = append(f.answer.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: pod.ObjectMeta, Timestamp: metav1.NewTime(f.now), Window: metav1.Duration{Duration: 15 * time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "main", Usage: corev1.ResourceList{}}},
		})
		f.samples[pod.Name] = upstreammetrics.PodMetric{Timestamp: f.now, Window: 15 * time.Second, Value: requestMilli / 2}
	}
	f.lister = corelisters.NewPodLister(indexer)
	percent, replicas := int32(targetPercent), int32(1)
	f.hpa = &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MinReplicas: &replicas, MaxReplicas: 10_000, Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{},
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
			}}},
		},
	}
	for i := range pods {
		f.set(i, requestMilli/2)
	}
	return f
}

// set gives a pod's sample another value.
func (f *field) set(pod int, milli int64) {
	sample := f.samples[f.pods[pod].Name]
	sample.Value = milli
	f.samples[f.pods[pod].Name] = sample
	f.answer.Items[pod].Containers[0].Usage[corev1.ResourceCPU] = *resource.NewMilliQuantity(milli, resource.DecimalSI)
}

// move is what happens between two decisions: the load wanders around the target.
func (f *field) move(i int) (milli int64) {
	milli = int64(requestMilli/2 + i%7*40*len(f.pods))
	f.set(0, milli)
	return milli
}

// GetResourceMetric is upstream's metrics client. The calculator changes the map.
func (f *field) GetResourceMetric(context.Context, corev1.ResourceName, string, labels.Selector, string) (upstreammetrics.PodMetricsInfo, time.Time, error) {
	return maps.Clone(f.samples), f.now, nil
}

// PodMetricses and List are the client of the metrics API.
func (f *field) PodMetricses(string) metricsclient.PodMetricsInterface { return f }

// List is all that upstream asks.
func (f *field) List(context.Context, metav1.ListOptions) (*metricsv1beta1.PodMetricsList, error) {
	return &f.answer, nil
}

// calculator is upstream's, with a tolerance of zero: another one cannot be set
// from outside its package.
func (f *field) calculator(client upstreammetrics.MetricsClient) func(int) int32 {
	o := observe.DefaultOptions()
	calculator := podautoscaler.NewReplicaCalculator(client, f.lister, o.CPUInitializationPeriod, o.InitialReadinessDelay)
	selector, ctx := labels.SelectorFromSet(labels.Set{"app": "web"}), context.Background()
	return func(int) int32 {
		replicas, _, _, _, err := calculator.GetResourceReplicas(ctx, int32(len(f.pods)), targetPercent, corev1.ResourceCPU,
			podautoscaler.Tolerances{}, namespace, selector, "")
		must(err)
		return replicas
	}
}

// decideReadings takes the observation as it is kept.
func (f *field) decideReadings() func(int) int32 {
	answers, o, decided := f.decision()
	answers.Reset(&decided.policy, f.pods)
	o.Readings = []metric.Reading{answers.Resource(0, &f.answer)}
	sample := &o.Readings[0].Samples[0]
	return func(i int) int32 {
		sample.Milli = f.answer.Items[0].Containers[0].Usage.Cpu().MilliValue()
		return decided.next(i, o)
	}
}

// decideAnswers makes the observation anew for each decision.
func (f *field) decideAnswers() func(int) int32 {
	answers, o, decided := f.decision()
	o.Readings = make([]metric.Reading, 1)
	return func(i int) int32 {
		o.Pods = observe.AppendPods(o.Pods[:0], f.pods)
		answers.Reset(&decided.policy, f.pods)
		o.Readings[0] = answers.Resource(0, &f.answer)
		return decided.next(i, o)
	}
}

type decisions struct {
	policy decide.Policy
	state  decide.State
	begun  time.Time
}

func (f *field) decision() (*observe.Answers, *decide.Observation, *decisions) {
	options := observe.DefaultOptions()
	options.Tolerance, options.Divergences = 0, divergence.Default
	count := int32(len(f.pods))
	o := &decide.Observation{Target: decide.Target{SpecReplicas: count, StatusReplicas: count}, Pods: observe.Pods(f.pods)}
	return &observe.Answers{}, o, &decisions{policy: observe.Policy(f.hpa, options), begun: f.now}
}

// next decides a second later.
func (d *decisions) next(i int, o *decide.Observation) int32 {
	now := d.begun.Add(time.Duration(i) * time.Second)
	var decision decide.Decision
	decision, d.state = decide.Decide(now, &d.policy, d.state, o)
	d.state = decide.Settle(d.state, decide.Outcome{At: now})
	return decision.Metrics[0].Replicas
}

// compare times the two in turns and prints the medians and their quotient.
func (f *field) compare(b *testing.B, upstream, plimsoll func(int) int32) {
	for i := range 100 {
		f.move(i)
		if u, p := upstream(i), plimsoll(i); u != p {
			b.Fatalf("they calculate different things: upstream %d, plimsoll %d", u, p)
		}
	}
	var theirs, ours []float64
	i := 100
	for b.Loop() {
		f.move(i)
		theirs = append(theirs, timed(upstream, i))
		ours = append(ours, timed(plimsoll, i))
		i += batch
	}
	u, p := median(theirs), median(ours)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(u, "upstream-ns")
	b.ReportMetric(p, "plimsoll-ns")
	b.ReportMetric(u/p, "times-faster")
}

func timed(decide func(int) int32, i int) (nanoseconds float64) {
	start := time.Now()
	for n := range batch {
		decide(i + n)
	}
	return float64(time.Since(start).Nanoseconds()) / batch
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
