package currentusage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// metrics is metrics.k8s.io with two pods, and counts requests.
type metrics struct {
	requests int
	err      error
}

func (m *metrics) Resource(context.Context, string, string) (*metricsv1beta1.PodMetricsList, error) {
	m.requests++
	list := &metricsv1beta1.PodMetricsList{}
	for _, name := range []string{"web-1", "web-2"} {
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "app",
				Usage: corev1.ResourceList{"memory": resource.MustParse("64Mi")}}},
		})
	}
	return list, m.err
}

// silent are kubelets without samples.
type silent struct{ asked int }

func (s *silent) Latest(time.Time, []*observe.Pod, *podusage.View) error {
	s.asked++
	return errors.New("no samples")
}

// TestRead: usage that the kubelets' samples lack is read from metrics.k8s.io; a pod without usage in both is left out.
func TestRead(t *testing.T) {
	api, kubelets := &metrics{}, &silent{}
	r, err := New(Config{
		Kubelets: kubelets, Metrics: api, Log: logr.Discard(),
		Pod: func(_, name string) *observe.Pod {
			if name == "web-3" {
				return nil
			}
			return &observe.Pod{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	amounts := vertical.Amounts{}.With(vertical.Memory, 64<<20).In(vertical.Memory, vertical.BinarySI)
	want := map[string]map[string]vertical.Amounts{"web-1": {"app": amounts}, "web-2": {"app": amounts}}
	got := r.Read(t.Context(), "shop", []string{"web-1", "web-2", "web-3"})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(vertical.Amounts{})); diff != "" || kubelets.asked != 2 {
		t.Errorf("%d asked of the kubelets (-want +got):\n%s", kubelets.asked, diff)
	}
	if r.Read(t.Context(), "shop", nil); api.requests != 1 {
		t.Errorf("%d requests, want none for no pods", api.requests)
	}
	api.err = errors.New("not now")
	if got := r.Read(t.Context(), "shop", []string{"web-1"}); len(got) != 0 {
		t.Errorf("%v, although nothing is known", got)
	}
}
