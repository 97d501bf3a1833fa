package sampling

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var (
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
)

func all(string) bool { return true }

// served has the metrics of metrics.k8s.io.
type served struct {
	items []metricsv1beta1.PodMetrics
	err   error
}

func (s *served) Resource(context.Context, string, string) (*metricsv1beta1.PodMetricsList, error) {
	return &metricsv1beta1.PodMetricsList{Items: s.items}, s.err
}

// podMetrics are those of a pod whose containers use 100m and 1Gi.
func podMetrics(name string, at time.Time, containers ...string) metricsv1beta1.PodMetrics {
	m := metricsv1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Timestamp: metav1.NewTime(at),
		Window: metav1.Duration{Duration: 15 * time.Second},
	}
	for _, container := range containers {
		m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{Name: container, Usage: corev1.ResourceList{
			corev1.ResourceCPU: apiresource.MustParse("100m"), corev1.ResourceMemory: apiresource.MustParse("1Gi"),
		}})
	}
	return m
}

// sampler follows the object web with these pods of metrics.k8s.io.
func sampler(metrics Metrics, responded func(error), pods ...*corev1.Pod) *rounds {
	index := podindex.New()
	index.SetSelector(observe.VPA(web), podindex.SelectorOf(labels.Everything()))
	for _, pod := range pods {
		of := observe.PodOf(pod)
		of.Whole = observe.WholeOf(pod)
		index.Put(of)
	}
	policy := recommend.DefaultPolicy()
	s := New(Config{
		Sources: Sources{Metrics: metrics}, Pods: index, Policy: &policy, Interval: time.Minute, Log: logr.Discard(),
		Responded: responded,
	})
	s.Follow(web)
	return &rounds{Sampler: s}
}

func runningPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app"}}, InitContainers: []corev1.Container{{Name: "init"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: noon.Add(-time.Hour)}},
	}
}

// TestMetricsAPI: containers of running pods are sampled, once for each time; not init containers, pods that have ended
// and values of an earlier pod of the name.
func TestMetricsAPI(t *testing.T) {
	deleting, ended := runningPod("deleting"), runningPod("ended")
	deleting.DeletionTimestamp, ended.Status.Phase = &metav1.Time{Time: noon}, corev1.PodSucceeded
	api := &served{items: []metricsv1beta1.PodMetrics{
		podMetrics("web-0", noon.Add(-20*time.Second), "app", "init"), podMetrics("replaced", noon.Add(-2*time.Hour), "app"),
		podMetrics("deleting", noon, "app"), podMetrics("ended", noon, "app"), podMetrics("unknown", noon, "app"),
	}}
	var responses []error
	r := sampler(api, func(err error) { responses = append(responses, err) },
		runningPod("web-0"), runningPod("replaced"), deleting, ended)
	r.round(t.Context(), noon)
	r.round(t.Context(), noon.Add(time.Second))
	want := []recommend.Sample{{
		Pod: "uid-web-0", Container: "app", At: noon.Add(-20 * time.Second),
		Use: vertical.Amounts{}.With(vertical.CPU, 100).With(vertical.Memory, 1<<30),
	}}
	samples, refused := r.Take(web, all)
	if !slices.Equal(want, samples) || refused != nil {
		t.Errorf("refused %v; got %+v, want %+v", refused, samples, want)
	}
	if len(responses) != 1 || responses[0] != nil {
		t.Errorf("the second request is a second later: responses %v", responses)
	}
	if again, _ := r.Take(web, all); again != nil {
		t.Errorf("taken twice: %+v", again)
	}
	api.err = errors.New("down")
	r.round(t.Context(), noon.Add(time.Hour))
	if samples, _ := r.Take(web, all); samples != nil || len(responses) != 2 || responses[1] == nil {
		t.Errorf("%+v, responses %v", samples, responses)
	}
}

// TestAdd: implausible samples are refused, in order. Pods that are gone are dropped after their last samples.
func TestAdd(t *testing.T) {
	r := sampler(&served{}, func(error) {})
	of := func(resource vertical.Resource, amount vertical.Amount, at time.Time) Measured {
		return Measured{Resource: resource, Amount: amount, At: at, Over: time.Second}
	}
	app, proxy, other := Source{"a", "app"}, Source{"a", "proxy"}, Source{"b", "app"}
	r.Add(noon, web, other, of(vertical.Memory, 1<<20, noon.Add(-time.Second)))
	r.Add(noon, web, app, of(vertical.CPU, 100, noon.Add(-30*time.Second)))
	r.Add(noon, web, app, of(vertical.Memory, 1<<20, noon.Add(-40*time.Second)))
	r.Add(noon, web, proxy, of(vertical.CPU, 10, noon.Add(-20*time.Second)))
	r.Add(noon, web, proxy, of(vertical.CPU, -1, noon))
	r.Add(noon, web, app, of(vertical.Memory, 1<<62, noon))
	r.Add(noon, types.NamespacedName{Name: "unknown"}, app, of(vertical.CPU, 100, noon))
	if n := r.Sampled(web); n != 3 {
		t.Errorf("%d containers are sampled", n)
	}
	samples, refused := r.Take(web, func(pod string) bool { return pod == "a" })
	if len(samples) != 3 || samples[0].Container != "app" || !samples[0].At.Equal(noon.Add(-30*time.Second)) ||
		samples[1].Container != "proxy" || samples[2].Pod != "b" {
		t.Errorf("%+v", samples)
	}
	want := []recommend.Discarded{
		{Pod: "a", Container: "app", Resource: vertical.Memory, Why: "more than any machine has"},
		{Pod: "a", Container: "proxy", Resource: vertical.CPU, Why: "negative"},
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := r.Sampled(web); n != 2 {
		t.Errorf("%d containers are sampled after one pod is gone", n)
	}
	r.Forget(web)
	if samples, refused := r.Take(web, all); samples != nil || refused != nil || r.Sampled(web) != 0 {
		t.Errorf("forgotten: %+v, %+v", samples, refused)
	}
}

// TestTakeOfKubelet: a kubelet's sample may lack a resource, and an impossible value is reported.
func TestTakeOfKubelet(t *testing.T) {
	r := sampler(&served{}, func(error) {})
	o := r.objects[web]
	r.take(noon, o, Source{"a", "app"}, &rate.ContainerUsage{
		CPU: rate.Interval{End: noon, Span: 15 * time.Second}, MemoryBytes: 1 << 20, HasMemory: true,
	})
	r.take(noon, o, Source{"b", "app"}, &rate.ContainerUsage{
		CPU: rate.Interval{NanoCores: 1e9, End: noon, Span: 15 * time.Second}, HasCPU: true, MemoryBytes: 1 << 20,
	})
	o.refuse(Source{"a", "app"}, rate.RefusedCPU)
	samples, refused := r.Take(web, all)
	if len(samples) != 2 {
		t.Fatalf("%+v", samples)
	}
	for i, want := range []vertical.Resource{vertical.Memory, vertical.CPU} {
		_, hasMemory := samples[i].Use.Get(vertical.Memory)
		_, hasCPU := samples[i].Use.Get(vertical.CPU)
		if hasMemory != (want == vertical.Memory) || hasCPU == hasMemory {
			t.Errorf("pod %s: memory %t, CPU %t", samples[i].Pod, hasMemory, hasCPU)
		}
	}
	if len(refused) != 1 || refused[0].Resource != vertical.CPU || refused[0].Why != noNumber {
		t.Errorf("refused: %+v", refused)
	}
}
