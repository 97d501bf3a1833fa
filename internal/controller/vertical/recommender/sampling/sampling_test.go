package sampling

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// requested has the namespaces requested from metrics.k8s.io.
type requested []string

func (r *requested) Resource(_ context.Context, namespace, _ string) (*metricsv1beta1.PodMetricsList, error) {
	*r = append(*r, namespace)
	return &metricsv1beta1.PodMetricsList{}, nil
}

// TestManyNamespacesAreOneList: few namespaces are requested one by one, more at once.
func TestManyNamespacesAreOneList(t *testing.T) {
	for namespaces, want := range map[int]int{fewNamespaces: fewNamespaces, fewNamespaces + 1: 1} {
		var metrics requested
		s := New(Config{
			Sources: Sources{Metrics: &metrics}, Interval: time.Minute, Responded: func(error) {}, Log: logr.Discard(),
		})
		r := &rounds{Sampler: s}
		for i := range namespaces {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint(i), Name: "p", UID: types.UID(fmt.Sprint(i))}}
			r.missing = append(r.missing, missing{pod: observe.PodOf(pod)})
		}
		r.request(t.Context(), time.Now())
		if len(metrics) != want || want == 1 && metrics[0] != "" {
			t.Errorf("%d namespaces are requested as %q", namespaces, metrics)
		}
	}
}

// TestPeakBetweenRounds: the highest memory use since the last round counts, with its own time, and not the present
// one.
func TestPeakBetweenRounds(t *testing.T) {
	s := New(Config{Policy: &recommend.Policy{}, Log: logr.Discard()})
	name, from := types.NamespacedName{Namespace: "shop", Name: "web"}, Source{Pod: "u-0", Container: "app"}
	s.Follow(name)
	now := time.Now()
	peakAt := now.Add(-9 * time.Second)
	s.take(now, s.objects[name], from, &rate.ContainerUsage{
		CPU: rate.Interval{End: now.Add(-time.Second), Span: 15 * time.Second}, HasCPU: true,
		MemoryBytes: 100 << 20, HasMemory: true, MostMemoryBytes: 500 << 20, MostMemoryAt: peakAt,
	})
	samples, refused := s.Take(name, func(string) bool { return true })
	if len(samples) != 1 || len(refused) != 0 {
		t.Fatalf("%+v, refused %+v", samples, refused)
	}
	if amount, ok := samples[0].Use.Get(vertical.Memory); !ok || amount != 500<<20 {
		t.Errorf("memory %d, %t", amount, ok)
	}
}

// unread has kubelets without samples. It records the number of pods in the last Set of each object.
type unread map[observe.Key]int

func (u unread) Run(ctx context.Context, _ podusage.Watch) { <-ctx.Done() }

func (u unread) Set(key observe.Key, pods []*observe.Pod) { u[key] = len(pods) }

func (u unread) Latest(time.Time, []*observe.Pod, *podusage.View) error {
	return podusage.ErrNotGranted
}

func (u unread) ReportMissing(time.Time, []*observe.Pod, *podusage.View) {}

// TestPodsAreSet: the pods of an object are collected while it is followed.
func TestPodsAreSet(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	pods := podindex.New()
	pods.SetSelector(observe.VPA(name), podindex.SelectorOf(labels.Everything()))
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", i)}}
		pods.Put(observe.PodOf(pod))
	}
	direct := unread{}
	s := New(Config{
		Sources: Sources{Direct: direct, Metrics: &requested{}}, Pods: pods, Interval: time.Minute, Log: logr.Discard(),
	})
	r := &rounds{Sampler: s}
	for _, step := range []struct {
		act  func(types.NamespacedName)
		want int
	}{{func(types.NamespacedName) {}, 0}, {s.Follow, 2}, {s.Forget, 0}} {
		step.act(name)
		r.round(t.Context(), time.Now())
		if n := direct[observe.VPA(name)]; n != step.want {
			t.Errorf("%d pods are collected, not %d", n, step.want)
		}
	}
}
