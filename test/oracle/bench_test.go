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

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const (
	targetPercent = 50
	requestMilli  = 1000
	// batch is how many decisions of each side are timed at once, in turns.
	batch = 20
)

// BenchmarkAgainstUpstream is upstream's replica calculator against Plimsoll's
// core, in turns and on the same pods and samples: a utilization metric whose value
// moves. Times are medians of batches, so that other processes count little.
//
// With readings, both get what their shells hand them: upstream a map of samples and
// a lister of pods, Plimsoll its observation. "calculation" is what upstream's
// calculator does, "decision" the whole of Decide and Settle: stabilization, rates,
// bounds, and the history, too. With answers, both begin with the metrics
// API's answer and the cached pods, so that "decision" makes the observation as well.
//
// Upstream's lister has these pods only; in a cluster it walks over the namespace.
func BenchmarkAgainstUpstream(b *testing.B) {
	for _, pods := range []int{10, 1000} {
		b.Run(fmt.Sprintf("from=readings/pods=%d", pods), func(b *testing.B) {
			f := newField(pods)
			f.compare(b, f.calculator(f), map[string]side{"calculation": f.calculate(), "decision": f.decide(false)})
		})
		b.Run(fmt.Sprintf("from=answers/pods=%d", pods), func(b *testing.B) {
			f := newField(pods)
			rest := upstreammetrics.NewRESTMetricsClient(f, nil, nil)
			f.compare(b, f.calculator(rest), map[string]side{"decision": f.decide(true)})
		})
	}
}

// side says how many replicas the metric asks for.
type side func() int32

// field is what both sides read.
type field struct {
	// MetricsClient and PodMetricsInterface are nil; what is called stands below.
	upstreammetrics.MetricsClient
	metricsclient.PodMetricsInterface

	pods    []*observe.Pod
	answer  metricsv1beta1.PodMetricsList
	samples upstreammetrics.PodMetricsInfo
	lister  corelisters.PodLister
	now     time.Time

	policy      horizontal.Policy
	answers     observehorizontal.Answers
	observation horizontal.Observation
}

func newField(pods int) *field {
	f := &field{now: time.Now(), samples: upstreammetrics.PodMetricsInfo{}}
	started := metav1.NewTime(f.now.Add(-time.Hour))
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for i := range pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(requestMilli, resource.DecimalSI)},
			}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
			}},
		}
		must(indexer.Add(pod))
		f.pods = append(f.pods, observe.PodOf(pod))
		f.answer.Items = append(f.answer.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: pod.ObjectMeta, Timestamp: metav1.NewTime(f.now), Window: metav1.Duration{Duration: 15 * time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "main", Usage: corev1.ResourceList{}}},
		})
		f.samples[pod.Name] = upstreammetrics.PodMetric{Timestamp: f.now, Window: 15 * time.Second, Value: requestMilli / 2}
	}
	f.lister = corelisters.NewPodLister(indexer)
	for i := range pods {
		f.set(i, requestMilli/2)
	}
	f.policy, _, _ = observehorizontal.PolicyOf(observehorizontal.HPA(utilization(int32(pods))),
		observehorizontal.DefaultOptions())
	f.policy.Tolerance = metric.Tolerance{}
	f.answers.Reset(&f.policy, f.pods)
	f.observation = horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: int32(pods), StatusReplicas: int32(pods)},
		Pods:   observe.Pods(f.pods), Readings: []metric.Reading{f.answers.Resource(0, &f.answer)},
	}
	return f
}

// utilization is an object with the API server's default behavior. It is at its
// maximum, so that the count stays although the proposal changes.
func utilization(maximum int32) *autoscalingv2.HorizontalPodAutoscaler {
	percent := int32(targetPercent)
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: maximum, Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{},
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
						AverageUtilization: &percent},
				}}},
		},
	}
}

// set gives a pod's sample another value.
func (f *field) set(pod int, milli int64) {
	sample := f.samples[f.pods[pod].Name]
	sample.Value = milli
	f.samples[f.pods[pod].Name] = sample
	f.answer.Items[pod].Containers[0].Usage[corev1.ResourceCPU] = *resource.NewMilliQuantity(milli, resource.DecimalSI)
}

// move is what happens between two batches: the load wanders around the target.
func (f *field) move(i int) {
	f.set(0, int64(requestMilli/2+i%7*40*len(f.pods)))
	f.answers.Reset(&f.policy, f.pods)
	f.observation.Readings[0] = f.answers.Resource(0, &f.answer)
}

// GetResourceMetric is upstream's metrics client. The calculator changes the map.
func (f *field) GetResourceMetric(
	context.Context, corev1.ResourceName, string, labels.Selector, string,
) (upstreammetrics.PodMetricsInfo, time.Time, error) {
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
func (f *field) calculator(client upstreammetrics.MetricsClient) side {
	o := observehorizontal.DefaultOptions()
	calculator := podautoscaler.NewReplicaCalculator(client, f.lister, o.CPUInitializationPeriod, o.InitialReadinessDelay)
	selector, ctx := labels.SelectorFromSet(labels.Set{"app": "web"}), context.Background()
	return func() int32 {
		replicas, _, _, _, err := calculator.GetResourceReplicas(ctx, int32(len(f.pods)), targetPercent, corev1.ResourceCPU,
			podautoscaler.Tolerances{}, namespace, selector, "")
		must(err)
		return replicas
	}
}

// calculate is the metric alone.
func (f *field) calculate() side {
	c := &metric.Context{
		Now: f.now, SpecReplicas: int32(len(f.pods)), StatusReplicas: int32(len(f.pods)), Pods: f.observation.Pods,
		CPUInitializationPeriod: f.policy.CPUInitializationPeriod, InitialReadinessDelay: f.policy.InitialReadinessDelay,
		Divergences: f.policy.Divergences,
	}
	var r metric.Result
	return func() int32 {
		metric.Evaluate(&f.policy.Metrics[0], &f.observation.Readings[0], c, &r)
		return r.Replicas
	}
}

// decide decides every second, if need be on an observation that is made anew.
func (f *field) decide(anew bool) side {
	var state horizontal.State
	var decision horizontal.Decision
	o, now := &f.observation, f.now
	return func() int32 {
		if anew {
			o.Pods = observe.AppendPods(o.Pods[:0], f.pods)
			f.answers.Reset(&f.policy, f.pods)
			o.Readings[0] = f.answers.Resource(0, &f.answer)
		}
		now = now.Add(time.Second)
		decision, state = horizontal.Decide(now, &f.policy, state, o)
		state = horizontal.Settle(state, horizontal.Outcome{At: now})
		return decision.Metrics[0].Replicas
	}
}

// compare prints the medians, and how many times as long upstream's calculator takes.
func (f *field) compare(b *testing.B, upstream side, plimsoll map[string]side) {
	took := map[string][]float64{}
	for i := 0; b.Loop(); i++ {
		f.move(i)
		want, u := timed(upstream)
		took["upstream"] = append(took["upstream"], u)
		for name, next := range plimsoll {
			got, p := timed(next)
			took[name] = append(took[name], p)
			if got != want {
				b.Fatalf("the %s comes to %d, upstream to %d", name, got, want)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	u := median(took["upstream"])
	b.ReportMetric(u, "upstream-ns")
	for name := range plimsoll {
		p := median(took[name])
		b.ReportMetric(p, name+"-ns")
		b.ReportMetric(u/p, "upstream/"+name)
	}
}

func timed(next side) (replicas int32, nanoseconds float64) {
	start := time.Now()
	for range batch {
		replicas = next()
	}
	return replicas, float64(time.Since(start).Nanoseconds()) / batch
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
