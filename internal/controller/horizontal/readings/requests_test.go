package readings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// throughClient requests external metrics from a fake adapter through the real client.
type throughClient struct {
	*world
	client *metricsapi.Client
}

func (w *world) throughClient(adapter http.RoundTripper) throughClient {
	w.T.Helper()
	client, err := metricsapi.New(metricsapi.Config{
		Rest: &rest.Config{Host: "https://api", QPS: -1, Transport: adapter}, Mapper: meta.NewDefaultRESTMapper(nil),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return throughClient{w, client}
}

// External implements query.Source.
func (c throughClient) External(
	ctx context.Context, namespace, metric, selector string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	return c.client.External(ctx, namespace, metric, selector)
}

type slowAdapter struct {
	took  time.Duration
	asked atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (a *slowAdapter) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked.Add(1)
	select {
	case <-time.After(a.took):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	body, err := json.Marshal(map[string]any{
		"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1",
		"metadata": map[string]any{},
		"items": []map[string]any{{"metricName": "queue", "timestamp": time.Now().UTC().Format(time.RFC3339),
			"value": "200m"}},
	})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}, err
}

// If an adapter is too slow for its objects, they are decided less often, and no condition reports a failed metric.
func TestSlowAdapterStretchesPeriods(t *testing.T) {
	for _, n := range []int{200, 300} {
		inWorld(t, func(t *testing.T, w *world) {
			for i := range n {
				w.AddHPA(horizontaltest.Externally(w.Web(fmt.Sprintf("web-%d", i), 2)))
			}
			adapter := &slowAdapter{took: time.Second}
			w.Start(func(c *controllerhorizontal.Config) {
				c.Metrics, c.Workers, c.Triggers = w.throughClient(adapter), 5, true
			})
			w.Pass(3 * time.Minute)
			adapter.asked.Store(0)
			w.Pass(2 * time.Minute)
			for i := range n {
				if got := w.Condition(fmt.Sprintf("web-%d", i),
					autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
					t.Fatalf("of %d objects, web-%d has ScalingActive %s", n, i, got)
				}
			}
			if w.HasEvent("Failed") {
				t.Errorf("of %d objects some failed", n)
			}
			// 16 slots and calls of a second: each object every 15 s, or as often as the slots permit.
			got, want := adapter.asked.Load(), min(8*n, 16*120)
			if float64(got) < 0.9*float64(want) || float64(got) > 1.1*float64(want) {
				t.Errorf("for %d objects it was asked %d times in 2 minutes, want about %d", n, got, want)
			}
		})
	}
}

// A metric that hangs does not keep its object from being scaled up on another.
func TestHungMetricDoesNotHoldOthers(t *testing.T) {
	for phase := range 15 {
		inWorld(t, func(t *testing.T, w *world) {
			k := w.Kubelets("a")
			w.ExternalValue = func(ctx context.Context) (int64, error) {
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
				}
				return 0, context.DeadlineExceeded
			}
			hpa := w.Web("web", 2)
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, horizontaltest.Externally(w.Web("other", 1)).Spec.Metrics...)
			w.Onto("web", 2, "a")
			w.AddHPA(hpa)
			w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod = horizontaltest.Period })
			w.Pass(time.Minute + time.Duration(phase)*time.Second)
			w.Set(func() { k.Milli = 1000 })
			began := time.Now()
			for w.Replicas("web") == 2 && time.Since(began) < time.Minute {
				w.Pass(50 * time.Millisecond)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("second %d of the period: the first scale-up came after %s", phase, took)
			}
		})
	}
}

// A request in progress, also for a while, prevents the count from falling, does not fail the metric, and triggers a
// decision when its response arrives.
func TestAnswerOnItsWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		took, value := time.Duration(0), int64(400)
		w.ExternalValue = func(ctx context.Context) (int64, error) {
			var wait time.Duration
			var milli int64
			w.Set(func() { wait, milli = took, value })
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			return milli, ctx.Err()
		}
		hpa := w.Web("web", 4)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, horizontaltest.Externally(w.Web("other", 1)).Spec.Metrics...)
		w.Onto("web", 4, "a")
		w.AddHPA(hpa)
		k.Milli = 20
		w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod = horizontaltest.Period })
		w.Pass(time.Minute)
		w.WantReplicas("web", 4, "the queue needs four")
		w.Set(func() { took = 40 * time.Second; w.Events = nil })
		w.Pass(16 * time.Second)
		w.Set(func() { value = 600 })
		w.Pass(20 * time.Second)
		w.WantReplicas("web", 4, "the length of the queue is on its way, and CPU alone asks for one pod")
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" ||
			w.HasEvent("Failed") {
			t.Errorf("meanwhile ScalingActive is %s, events %q", got, w.Events)
		}
		w.Set(func() { took = 0 })
		w.Pass(25 * time.Second)
		w.Set(func() { value = 200 })
		w.Pass(30 * time.Second)
		w.WantReplicas("web", 2, "answers come again")
	})
}

// Requests end with their object, and with an edit of its metrics.
func TestRequestsEndWithTheirObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		underWay := 0
		w.ExternalValue = func(ctx context.Context) (int64, error) {
			w.Set(func() { underWay++ })
			<-ctx.Done()
			w.Set(func() { underWay-- })
			return 0, ctx.Err()
		}
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.Start()
		w.Pass(5 * horizontaltest.Period)
		w.Set(func() {
			if underWay != 1 {
				t.Errorf("%d requests are under way, want the one", underWay)
			}
		})
		w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
			hpa.Spec.Metrics[0].External.Metric.Name = "other"
		})
		w.Pass(2 * horizontaltest.Period)
		w.Set(func() {
			if underWay != 1 {
				t.Errorf("%d requests are under way after an edit, want the new one", underWay)
			}
		})
		w.DeleteHPA("web")
		w.Pass(2 * horizontaltest.Period)
		w.Set(func() {
			if underWay != 0 {
				t.Errorf("%d requests are under way without an HPA", underWay)
			}
		})
	})
}

// behind returns resource metrics with samples of that age.
type behind struct {
	*world
	by time.Duration
}

// Resource implements query.Source.
func (b behind) Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	list, err := b.world.Resource(ctx, namespace, selector)
	if err == nil {
		for i := range list.Items {
			list.Items[i].Timestamp = metav1.NewTime(time.Now().Add(-b.by))
		}
	}
	return list, err
}

// If metrics.k8s.io replaces kubelets, its samples from before the load do not lower the count that the kubelets'
// samples raised; samples from after it do.
func TestStandInIsNotOlder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		hpa := w.Web("web", 8)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.Onto("web", 8, "a", "b")
		w.AddHPA(hpa)
		k.Milli = 95
		w.Set(func() { w.Usage = 20 })
		w.Start(k.Direct, func(c *controllerhorizontal.Config) {
			c.SyncPeriod = horizontaltest.Period
			c.Metrics = behind{w, 40 * time.Second}
		})
		w.Pass(time.Minute)
		w.WantReplicas("web", 8, "what was measured before the start is no reason to scale down while the "+
			"kubelets' samples are seconds away")
		w.Set(func() { k.Milli = 200 })
		w.Pass(20 * time.Second)
		most := w.Replicas("web")
		if most <= 8 {
			t.Fatalf("%d replicas at twice the load", most)
		}
		w.Set(func() { k.Broken["b"] = true })
		w.Pass(15 * time.Second)
		w.WantReplicas("web", most, "the other source's samples are older than the scale-up")
		w.Pass(45 * time.Second)
		if got := w.Replicas("web"); got >= most {
			t.Errorf("%d replicas, although the samples are newer now", got)
		}
	})
}
