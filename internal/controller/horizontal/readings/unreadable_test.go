package readings_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// noMetricsServer is a cluster in which nothing serves metrics.k8s.io.
type noMetricsServer struct{ *world }

func (noMetricsServer) Resource(context.Context, string, string) (*metricsv1beta1.PodMetricsList, error) {
	return nil, errors.New("the server is currently unable to handle the request (get pods.metrics.k8s.io)")
}

// twentyNodes creates an object with a pod on each of twenty nodes, of which broken cannot be read for a while.
func (w *world) twentyNodes(broken int, hasServer bool) *horizontaltest.Kubelets {
	w.T.Helper()
	var nodes []string
	for i := range 20 {
		nodes = append(nodes, fmt.Sprintf("n%d", i))
	}
	k := w.Kubelets(nodes...)
	hpa := w.Web("web", 20)
	hpa.Spec.MaxReplicas = 100
	w.Onto("web", 20, nodes...)
	w.AddHPA(hpa)
	w.Start(k.Direct, func(c *controllerhorizontal.Config) {
		c.SyncPeriod = horizontaltest.Period
		if !hasServer {
			c.Metrics = noMetricsServer{w}
		}
	})
	w.Pass(time.Minute)
	w.Set(func() {
		for _, node := range nodes[:broken] {
			k.Broken[node] = true
		}
	})
	w.Pass(10 * time.Second)
	return k
}

// TestUnreadableNodes: the pods of unreadable nodes count as missing, with 0 on the way up and the whole request on the
// way down, if they are few or metrics.k8s.io does not respond. If most nodes are unreadable, there is no decision.
func TestUnreadableNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		broken    int
		hasServer bool
		milli     int64
		// want is the count, missing the pods that count as such.
		want    int32
		missing float64
		active  string
	}{
		// 20 * (19 * 400m + 1 * 0) / (20 * 100m)
		"one of twenty":                         {1, false, 400, 76, 1, "True"},
		"one of twenty beside a metrics server": {1, true, 400, 76, 1, "True"},
		// 20 * (19 * 10m + 1 * 200m) / (20 * 100m), of whole percents
		"one of twenty on the way down": {1, false, 10, 4, 1, "True"},
		// 20 * (17 * 400m + 3 * 0) / (20 * 100m)
		"three of twenty": {3, false, 400, 68, 3, "True"},
		// The metrics server reports the target for all pods.
		"three of twenty beside a metrics server": {3, true, 400, 20, 0, "True"},
		"most": {11, false, 400, 20, 0, "False"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.twentyNodes(tt.broken, tt.hasServer)
				w.Set(func() { k.Milli = tt.milli })
				w.Pass(30 * time.Second)
				if n := w.Metric("plimsoll_resource_unreadable_pods"); n != tt.missing {
					t.Errorf("%v pods count as missing, want %v", n, tt.missing)
				}
				if tt.missing > 0 && !w.HasEvent("web Warning FailedReadKubelet: counted as missing: ") {
					t.Error("no event reports them")
				}
				// This world removes no pods: the second scale-down waits 5 min for that.
				w.Pass(11 * time.Minute)
				if active := w.Condition("web", autoscalingv2.ScalingActive); w.Replicas("web") != tt.want ||
					!strings.HasPrefix(active, tt.active) {
					t.Errorf("%d replicas, ScalingActive %s; want %d, %s", w.Replicas("web"), active, tt.want,
						tt.active)
				}
			})
		})
	}
}
