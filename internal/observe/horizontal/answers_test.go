package horizontal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// podOf is a pod with containers named a, b, …, each with the given CPU request; an empty one is left out.
func podOf(name string, requests ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for i, request := range requests {
		pod.Spec.Containers = append(pod.Spec.Containers, containerOf(string(rune('a'+i)), request))
	}
	return pod
}

func containerOf(name, request string) corev1.Container {
	c := corev1.Container{Name: name}
	if request != "" {
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(request)}
	}
	return c
}

// used is a pod's metrics with containers a, b, …; an empty one has memory only.
func used(name string, cpus ...string) metricsv1beta1.PodMetrics {
	m := metricsv1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Timestamp:  metav1.NewTime(noon), Window: metav1.Duration{Duration: 15 * time.Second},
	}
	for i, cpu := range cpus {
		usage := corev1.ResourceList{"memory": resource.MustParse("1Mi")}
		if cpu != "" {
			usage["cpu"] = resource.MustParse(cpu)
		}
		m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{Name: string(rune('a' + i)), Usage: usage})
	}
	return m
}

func sampleOf(milli int64) metric.Sample {
	return metric.Sample{Present: true, Milli: milli, At: noon, Window: 15 * time.Second}
}

func policyOf(set divergence.Set, specs ...source.Spec) *horizontal.Policy {
	return &horizontal.Policy{Namespace: "shop", Metrics: specs, Divergences: set}
}

var (
	cpuAverage     = source.Spec{Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.AverageValue}}
	cpuUtilization = source.Spec{Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization}}
	cpuOfB         = source.Spec{
		Type: source.ContainerResource, Name: "cpu", Container: "b", Target: source.Target{Type: source.AverageValue},
	}
)

func TestResource(t *testing.T) {
	three := []*corev1.Pod{podOf("p1", "100m"), podOf("p2", "100m"), podOf("p3", "100m")}
	elsewhere := used("p1", "1")
	elsewhere.Namespace = "bank"
	cases := map[string]struct {
		reason string
		set    divergence.Set
		spec   source.Spec
		items  []metricsv1beta1.PodMetrics
		want   metric.Reading
	}{
		"no items": {
			reason: "an empty list differs from pods without values",
			spec:   cpuAverage,
			want:   metric.Reading{Empty: true},
		},
		"sum of containers": {
			reason: "a pod's value is the sum over its containers; a pod without an item has none",
			spec:   cpuAverage,
			items:  []metricsv1beta1.PodMetrics{used("p3", "1", "500m"), used("p1", "250m")},
			want:   metric.Reading{Samples: []metric.Sample{sampleOf(250), {}, sampleOf(1500)}},
		},
		"one container without the resource": {
			reason: "a partial sum is not a value",
			spec:   cpuAverage,
			items:  []metricsv1beta1.PodMetrics{used("p1", "1", ""), used("p2"), used("p3", "1")},
			want:   metric.Reading{Samples: []metric.Sample{{}, {}, sampleOf(1000)}},
		},
		"one container of the pod": {
			reason: "only the named container counts; a pod that lacks it has no value",
			spec:   cpuOfB,
			items:  []metricsv1beta1.PodMetrics{used("p1", "1", "2"), used("p2", "1"), used("p3", "1", "")},
			want:   metric.Reading{Samples: []metric.Sample{sampleOf(2000), {NoContainer: true}, {NoContainer: true}}},
		},
		"duplicates": {
			reason: "of two values for a pod the later one holds, among the pods and outside",
			spec:   cpuAverage,
			items: []metricsv1beta1.PodMetrics{
				used("p1", "1"), used("p1", "2"), used("x", "3"), used("y", "4"), used("x", "5"), used("p1"),
			},
			want: metric.Reading{Samples: []metric.Sample{sampleOf(2000), {}, {}}, Extraneous: []int64{5000, 4000}},
		},
		"requests": {
			reason: "a utilization is judged against requests",
			spec:   cpuUtilization,
			items:  []metricsv1beta1.PodMetrics{used("p1", "1")},
			want: metric.Reading{
				Samples:  []metric.Sample{sampleOf(1000), {}, {}},
				Requests: []metric.Request{{Milli: 100}, {Milli: 100}, {Milli: 100}},
			},
		},
		"sum that does not fit": {
			reason: "saturates",
			set:    divergence.Saturate, spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{used("p1", "9P", "9P")},
			want:  metric.Reading{Samples: []metric.Sample{sampleOf(math.MaxInt64), {}, {}}},
		},
		"sum that does not fit, as upstream": {
			reason: "wraps",
			spec:   cpuAverage,
			items:  []metricsv1beta1.PodMetrics{used("p1", "9P", "9P")},
			want:   metric.Reading{Samples: []metric.Sample{sampleOf(-446744073709551616), {}, {}}},
		},
		"another namespace": {
			reason: "an answer to another question is an error, not a number",
			set:    divergence.RejectImplausible, spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{elsewhere},
			want:  metric.Reading{Error: "the answer holds pod p1 of namespace bank"},
		},
		"another namespace, as upstream": {
			reason: "upstream looks at the name only",
			spec:   cpuAverage,
			items:  []metricsv1beta1.PodMetrics{elsewhere},
			want:   metric.Reading{Samples: []metric.Sample{sampleOf(1000), {}, {}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := NewAnswers(policyOf(tc.set, tc.spec), observe.PodsOf(three))
			got := a.Resource(0, &metricsv1beta1.PodMetricsList{Items: tc.items})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNoContainer: a pod without the container that the metric names is told from one without a sample of it.
func TestNoContainer(t *testing.T) {
	pods := observe.PodsOf([]*corev1.Pod{podOf("p1", "100m", "100m"), podOf("p2", "100m"), podOf("p3", "100m", "100m")})
	answers := NewAnswers(policyOf(divergence.Default, cpuOfB, cpuAverage), pods)
	list := &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{used("p1", "1", "2"), used("p2", "1")}}
	for name, got := range map[string][]metric.Sample{
		"metrics.k8s.io": answers.Resource(0, list).Samples,
		"kubelets":       answers.Measured(0, usageOfSome{sampleOf(2000), {}, {}}).Samples,
	} {
		if diff := cmp.Diff([]metric.Sample{sampleOf(2000), {NoContainer: true}, {}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := answers.Measured(1, usageOfSome{sampleOf(1000), {}, {}}).Samples; got[1].NoContainer {
		t.Error("a metric of whole pods reports a missing container")
	}
}

// usageOfSome has the samples of pods, of which some have none.
type usageOfSome []metric.Sample

func (u usageOfSome) IsEmpty() bool { return len(u) == 0 }

func (u usageOfSome) Sample(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Sample { return u[pod] }

func (u usageOfSome) Recent(int, *source.Spec, arithmetic.Mode) metric.Recent { return metric.Recent{} }

func (u usageOfSome) Earlier(int, *source.Spec, arithmetic.Mode) metric.Sample {
	return metric.Sample{}
}

func TestFarTooManyItems(t *testing.T) {
	items := make([]metricsv1beta1.PodMetrics, 1011)
	for i := range items {
		items[i] = used(fmt.Sprintf("p%d", i), "1")
	}
	pods := []*corev1.Pod{podOf("p1")}
	a := NewAnswers(policyOf(divergence.Default, cpuAverage), observe.PodsOf(pods))
	if got := a.Resource(0, &metricsv1beta1.PodMetricsList{Items: items}); got.Error != "1011 items for 1 pods" {
		t.Errorf("one more than the bound: error %q", got.Error)
	}
	if got := a.Resource(0, &metricsv1beta1.PodMetricsList{Items: items[:1010]}); got.Error != "" ||
		len(got.Extraneous) != 1009 {
		t.Errorf("at the bound: error %q, %d extraneous values", got.Error, len(got.Extraneous))
	}
	a.Reset(policyOf(divergence.None, cpuAverage), observe.PodsOf(pods))
	if got := a.Resource(0, &metricsv1beta1.PodMetricsList{Items: items}); got.Error != "" {
		t.Errorf("as upstream: error %q", got.Error)
	}

	a.Reset(policyOf(divergence.Default, source.Spec{Type: source.External, Name: "depth"}), nil)
	list := &externalmetricsv1beta1.ExternalMetricValueList{Items: make([]externalmetricsv1beta1.ExternalMetricValue,
		maxSeries+1)}
	if got := a.External(0, list); !strings.Contains(got.Error, "10001 series") {
		t.Errorf("series: error %q", got.Error)
	}
}

func valueOf(object, name, value string) custommetricsv1beta2.MetricValue {
	return custommetricsv1beta2.MetricValue{
		DescribedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: object},
		Metric:          custommetricsv1beta2.MetricIdentifier{Name: name},
		Timestamp:       metav1.NewTime(noon), Value: resource.MustParse(value),
	}
}

func TestPodsMetric(t *testing.T) {
	pods := []*corev1.Pod{podOf("p1"), podOf("p2")}
	spec := source.Spec{Type: source.Pods, Name: "rps", Target: source.Target{Type: source.AverageValue}}
	a := NewAnswers(policyOf(divergence.Default, spec), observe.PodsOf(pods))

	windowed := valueOf("p2", "rps", "7")
	windowed.WindowSeconds = ptr.To(int64(20))
	got := a.Pods(0, &custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{
		windowed, valueOf("p1", "RPS", "3"), valueOf("gone", "", "9"),
	}})
	want := metric.Reading{
		Samples: []metric.Sample{
			{Present: true, Milli: 3000, At: noon, Window: time.Minute},
			{Present: true, Milli: 7000, At: noon, Window: 20 * time.Second},
		},
		Extraneous: []int64{9000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a metric without a window has one minute (-want +got):\n%s", diff)
	}
	got = a.Pods(0,
		&custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{valueOf("p1", "errors", "3")}})
	if diff := cmp.Diff(metric.Reading{Error: "the answer holds metric errors"}, got); diff != "" {
		t.Errorf("another metric (-want +got):\n%s", diff)
	}
	if got := a.Pods(0, &custommetricsv1beta2.MetricValueList{}); !got.Empty {
		t.Errorf("an empty list: %+v", got)
	}
}

func TestObjectAndExternal(t *testing.T) {
	a := NewAnswers(&horizontal.Policy{Namespace: "shop", Divergences: divergence.Default, Metrics: []source.Spec{
		{Type: source.Object, Name: "rps"}, {Type: source.External, Name: "depth"},
	}}, nil)

	value := valueOf("web", "rps", "2500m")
	if diff := cmp.Diff(metric.Reading{Series: []int64{2500}, At: noon}, a.Object(0, &value)); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	value.DescribedObject = corev1.ObjectReference{Kind: "Namespace", Name: "shop"}
	if got := a.Object(0, &value); got.Error != "" {
		t.Errorf("a namespace has no namespace: %s", got.Error)
	}
	value.DescribedObject = corev1.ObjectReference{Kind: "Service", Namespace: "bank", Name: "web"}
	if got := a.Object(0, &value); got.Error != "the answer holds service web of namespace bank" {
		t.Errorf("an object of another namespace: %q", got.Error)
	}

	list := &externalmetricsv1beta1.ExternalMetricValueList{Items: []externalmetricsv1beta1.ExternalMetricValue{
		{MetricName: "depth", Timestamp: metav1.NewTime(noon), Value: resource.MustParse("4")},
		{MetricName: "depth", Timestamp: metav1.NewTime(noon.Add(time.Second)), Value: resource.MustParse("1E")},
	}}
	if diff := cmp.Diff(metric.Reading{Series: []int64{4000, math.MaxInt64}, At: noon.Add(time.Second)},
		a.External(1, list)); diff != "" {
		t.Errorf("external (-want +got):\n%s", diff)
	}
	list.Items[1].MetricName = "other"
	if got := a.External(1, list); got.Error != "the answer holds metric other" {
		t.Errorf("another metric's series: %q", got.Error)
	}
	if got := a.External(1, nil); !got.Empty {
		t.Errorf("no list: %+v", got)
	}
	if got := Failed(errors.New("the server is on fire")); got.Error != "the server is on fire" {
		t.Errorf("failed: %+v", got)
	}
}

// TestInitContainersWithoutASample: one that has ended leaves its pod's use to the running containers; as upstream, a
// running one without a sample discards that of the whole pod.
func TestInitContainersWithoutASample(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	setup, sidecar := containerOf("b", "10m"), containerOf("b", "10m")
	sidecar.RestartPolicy = &always
	pod := func(init corev1.Container) []*observe.Pod {
		p := podOf("p1", "100m")
		p.Spec.InitContainers = []corev1.Container{init}
		return observe.PodsOf([]*corev1.Pod{p})
	}
	list := &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{used("p1", "250m", "")}}
	for name, tc := range map[string]struct {
		set  divergence.Set
		pods []*observe.Pod
		want metric.Sample
	}{
		"an init container": {divergence.InitContainers, pod(setup), sampleOf(250)},
		"as upstream":       {divergence.None, pod(setup), metric.Sample{}},
		"a sidecar":         {divergence.InitContainers, pod(sidecar), metric.Sample{}},
	} {
		got := NewAnswers(policyOf(tc.set, cpuAverage), tc.pods).Resource(0, list)
		if len(got.Samples) != 1 || got.Samples[0] != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestResourceBeyondAnyMachine: the values that metrics-server 0.9.0 computes from a NaN in a kubelet's text, in the
// first scrape and in the second.
func TestResourceBeyondAnyMachine(t *testing.T) {
	lie := func(cpu, memory string) *metricsv1beta1.PodMetricsList {
		item := used("a", cpu)
		item.Containers[0].Usage[corev1.ResourceMemory] = resource.MustParse(memory)
		return &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{used("b", "50m"), item}}
	}
	for name, tc := range map[string]struct {
		list *metricsv1beta1.PodMetricsList
		want string
	}{
		"first":  {lie("922337203685477580n", "1Mi"), "922337203685477580n of cpu"},
		"CPUs":   {lie("922337203", "1Mi"), "922337203 of cpu"},
		"second": {lie("0", "9223372036854775800"), "9223372036854775800 of memory"},
		"big":    {lie("4k", "64Ti"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{podOf("a", "100m"), podOf("b", "100m")}
			got := NewAnswers(policyOf(divergence.Default, cpuUtilization), observe.PodsOf(pods)).Resource(0, tc.list).Error
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("error %q, want %q in it", got, tc.want)
			}
			got = NewAnswers(policyOf(divergence.None, cpuUtilization), observe.PodsOf(pods)).Resource(0, tc.list).Error
			if got != "" {
				t.Errorf("as upstream: error %q", got)
			}
		})
	}
}

// One Answers serves decision after decision: the contents of its buffers from an earlier one must never show.
func TestAnswersReuse(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	reused := &Answers{}
	for range 200 {
		var pods []*corev1.Pod
		for i := range random.IntN(20) {
			pods = append(pods, podOf(fmt.Sprintf("p%d", i), "100m"))
		}
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		list := &metricsv1beta1.PodMetricsList{}
		for range random.IntN(30) {
			list.Items = append(list.Items, used(fmt.Sprintf("p%d", random.IntN(25)), fmt.Sprintf("%dm", random.IntN(1000))))
		}
		p := policyOf(divergence.Default, cpuUtilization)
		reused.Reset(p, observe.PodsOf(pods))
		got, want := reused.Resource(0, list), naive(pods, list)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-naive +got):\n%s", diff)
		}
	}
}

// naive is Resource for a CPU utilization by way of a map for each answer.
func naive(pods []*corev1.Pod, list *metricsv1beta1.PodMetricsList) metric.Reading {
	if len(list.Items) == 0 {
		return metric.Reading{Empty: true}
	}
	values, order := map[string]int64{}, []string{}
	for _, item := range list.Items {
		if _, seen := values[item.Name]; !seen {
			order = append(order, item.Name)
		}
		values[item.Name] = item.Containers[0].Usage.Cpu().MilliValue()
	}
	r := metric.Reading{Samples: []metric.Sample{}, Requests: []metric.Request{}}
	known := map[string]bool{}
	for _, pod := range pods {
		known[pod.Name] = true
		sample := metric.Sample{}
		if v, found := values[pod.Name]; found {
			sample = sampleOf(v)
		}
		r.Samples = append(r.Samples, sample)
		r.Requests = append(r.Requests, metric.Request{Milli: 100})
	}
	for _, name := range order {
		if !known[name] {
			r.Extraneous = append(r.Extraneous, values[name])
		}
	}
	return r
}

func TestTarget(t *testing.T) {
	cases := map[string]struct {
		selector string
		want     podselector.Selector
		matches  bool
	}{
		"good":    {"app=web", podselector.Selector{}, true},
		"missing": {"", podselector.Selector{Problem: podselector.Missing}, false},
		"bad": {"app in", podselector.Selector{
			Problem: podselector.Invalid,
			Message: "couldn't convert selector into a corresponding internal selector object: " +
				"unable to parse requirement: found '' expected: '('",
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scale := &autoscalingv1.Scale{
				Spec:   autoscalingv1.ScaleSpec{Replicas: 3},
				Status: autoscalingv1.ScaleStatus{Replicas: 4, Selector: tc.selector},
			}
			target, selector := Target(scale)
			want := horizontal.Target{SpecReplicas: 3, StatusReplicas: 4, Selector: tc.want}
			if diff := cmp.Diff(want, target); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := selector.Matches(labelSet{"app": "web"}); got != tc.matches {
				t.Errorf("matches: %v", got)
			}
		})
	}
}

type labelSet map[string]string

func (s labelSet) Has(label string) bool   { _, has := s[label]; return has }
func (s labelSet) Get(label string) string { return s[label] }
func (s labelSet) Lookup(label string) (string, bool) {
	value, has := s[label]
	return value, has
}

func BenchmarkResource(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pods := make([]*corev1.Pod, n)
			list := &metricsv1beta1.PodMetricsList{Items: make([]metricsv1beta1.PodMetrics, n)}
			for i := range n {
				name := fmt.Sprintf("web-%06d", i)
				pods[i], list.Items[n-1-i] = podOf(name, "100m"), used(name, "50m")
			}
			a, p, translated := &Answers{}, policyOf(divergence.Default, cpuUtilization), observe.PodsOf(pods)
			for b.Loop() {
				a.Reset(p, translated)
				if r := a.Resource(0, list); r.Error != "" {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
