package horizontal

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
)

// throughClient asks for external metrics with the client that is shipped, of an adapter
// that is there, whatever it takes.
type throughClient struct {
	*world
	client *metricsapi.Client
}

func (w *world) throughClient(adapter http.RoundTripper) throughClient {
	w.t.Helper()
	client, err := metricsapi.New(metricsapi.Config{
		Rest: &rest.Config{Host: "https://api", QPS: -1, Transport: adapter}, Mapper: meta.NewDefaultRESTMapper(nil),
	})
	if err != nil {
		w.t.Fatal(err)
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

// Objects whose adapter is slower than they ask are decided less often, and no condition says that
// a metric failed.
func TestSlowAdapterStretchesPeriods(t *testing.T) {
	for _, n := range []int{200, 300} {
		inWorld(t, func(t *testing.T, w *world) {
			for i := range n {
				w.addHPA(externally(w.web(fmt.Sprintf("web-%d", i), 2)))
			}
			adapter := &slowAdapter{took: time.Second}
			w.start(func(c *Config) { c.Metrics, c.Workers, c.Triggers = w.throughClient(adapter), 5, true })
			w.pass(3 * time.Minute)
			adapter.asked.Store(0)
			w.pass(2 * time.Minute)
			for i := range n {
				if got := w.condition(fmt.Sprintf("web-%d", i),
					autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
					t.Fatalf("of %d objects, web-%d has ScalingActive %s", n, i, got)
				}
			}
			if w.hasEvent("Failed") {
				t.Errorf("of %d objects some failed", n)
			}
			// 16 slots and calls of a second: each object each 15 s, or as often as they allow.
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
			k := w.kubelets("a")
			w.external = func(ctx context.Context) (int64, error) {
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
				}
				return 0, context.DeadlineExceeded
			}
			hpa := w.web("web", 2)
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, externally(w.web("other", 1)).Spec.Metrics...)
			w.onto("web", 2, "a")
			w.addHPA(hpa)
			w.start(k.direct, func(c *Config) { c.SyncPeriod = period })
			w.pass(time.Minute + time.Duration(phase)*time.Second)
			w.set(func() { k.milli = 1000 })
			began := time.Now()
			for w.replicas("web") == 2 && time.Since(began) < time.Minute {
				w.pass(50 * time.Millisecond)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("second %d of the period: the first scale-up came after %s", phase, took)
			}
		})
	}
}

// An answer that is on its way, or is a while, keeps the count from falling, does not make
// the metric fail, and decides when it comes.
func TestAnswerOnItsWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		took, value := time.Duration(0), int64(400)
		w.external = func(ctx context.Context) (int64, error) {
			var wait time.Duration
			var milli int64
			w.set(func() { wait, milli = took, value })
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			return milli, ctx.Err()
		}
		hpa := w.web("web", 4)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, externally(w.web("other", 1)).Spec.Metrics...)
		w.onto("web", 4, "a")
		w.addHPA(hpa)
		k.milli = 20
		w.start(k.direct, func(c *Config) { c.SyncPeriod = period })
		w.pass(time.Minute)
		w.wantReplicas("web", 4, "the queue needs four")
		w.set(func() { took = 40 * time.Second; w.events = nil })
		w.pass(16 * time.Second)
		w.set(func() { value = 600 })
		w.pass(20 * time.Second)
		w.wantReplicas("web", 4, "the length of the queue is on its way, and CPU alone asks for one pod")
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" ||
			w.hasEvent("Failed") {
			t.Errorf("meanwhile ScalingActive is %s, events %q", got, w.events)
		}
		w.set(func() { took = 0 })
		w.pass(25 * time.Second)
		w.set(func() { value = 200 })
		w.pass(30 * time.Second)
		w.wantReplicas("web", 2, "answers come again")
	})
}

// Requests end with their object, and with what they were for.
func TestRequestsEndWithTheirObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		underWay := 0
		w.external = func(ctx context.Context) (int64, error) {
			w.set(func() { underWay++ })
			<-ctx.Done()
			w.set(func() { underWay-- })
			return 0, ctx.Err()
		}
		w.addHPA(externally(w.web("web", 2)))
		w.start()
		w.pass(5 * period)
		w.set(func() {
			if underWay != 1 {
				t.Errorf("%d requests are under way, want the one", underWay)
			}
		})
		w.edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
			hpa.Spec.Metrics[0].External.Metric.Name = "other"
		})
		w.pass(2 * period)
		w.set(func() {
			if underWay != 1 {
				t.Errorf("%d requests are under way after an edit, want the new one", underWay)
			}
		})
		w.deleteHPA("web")
		w.pass(2 * period)
		w.set(func() {
			if underWay != 0 {
				t.Errorf("%d requests are under way without an HPA", underWay)
			}
		})
	})
}

// behind answers for resource metrics with samples of so long ago.
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

// metrics.k8s.io, which stands in for kubelets with samples of the time before the load,
// does not take back what they asked for; with samples of the time after it does.
func TestStandInIsNotOlder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		hpa := w.web("web", 8)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.onto("web", 8, "a", "b")
		w.addHPA(hpa)
		k.milli = 95
		w.set(func() { w.usage = 20 })
		w.start(k.direct, func(c *Config) { c.SyncPeriod = period; c.Metrics = behind{w, 40 * time.Second} })
		w.pass(time.Minute)
		w.wantReplicas("web", 8, "what was measured before the start is no reason to scale down while the "+
			"kubelets' samples are seconds away")
		w.set(func() { k.milli = 200 })
		w.pass(20 * time.Second)
		most := w.replicas("web")
		if most <= 8 {
			t.Fatalf("%d replicas at twice the load", most)
		}
		w.set(func() { k.broken["b"] = true })
		w.pass(15 * time.Second)
		w.wantReplicas("web", most, "the other source's samples are older than the scale-up")
		w.pass(45 * time.Second)
		if got := w.replicas("web"); got >= most {
			t.Errorf("%d replicas, although the samples are newer now", got)
		}
	})
}
