package sampling

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// requested are the namespaces that metrics.k8s.io was requested for.
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
			r.lacking = append(r.lacking, lacking{pod: observe.PodOf(pod)})
		}
		r.ask(t.Context(), time.Now())
		if len(metrics) != want || want == 1 && metrics[0] != "" {
			t.Errorf("%d namespaces are requested as %q", namespaces, metrics)
		}
	}
}

// TestPeakBetweenRounds: the most memory since the round before counts, at its own time, and not what it is now.
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
