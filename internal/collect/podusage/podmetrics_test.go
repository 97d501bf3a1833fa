package podusage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestPodMetricsReadAlike: what is read from a view's PodMetrics is what is read from
// the view, whatever the times of a pod's containers.
func TestPodMetricsReadAlike(t *testing.T) {
	target := source.Target{Type: source.AverageValue, Milli: 100}
	policy := &horizontal.Policy{Namespace: "shop", Divergences: divergence.Default, Metrics: []source.Spec{
		{Type: source.Resource, Name: "cpu", Target: target},
		{Type: source.Resource, Name: "memory", Target: target},
		{Type: source.ContainerResource, Name: "cpu", Container: "app", Target: target},
		{Type: source.ContainerResource, Name: "memory", Container: "proxy", Target: target},
		{Type: source.ContainerResource, Name: "cpu", Container: "proxy", Target: target},
		{Type: source.ContainerResource, Name: "cpu", Container: "nobody", Target: target},
	}}
	rapid.Check(t, func(t *rapid.T) {
		pods := observe.PodsOf([]*corev1.Pod{pod("web-0", "a"), pod("web-1", "a"), pod("web-2", "b")})
		v := &View{}
		for range pods {
			v.containers = append(v.containers, drawContainers(t)...)
			v.ends = append(v.ends, len(v.containers))
		}
		list := v.PodMetrics(pods, policy.Metrics)
		ours, theirs := observehorizontal.NewAnswers(policy, pods), observehorizontal.NewAnswers(policy, pods)
		for i := range policy.Metrics {
			want, got := ours.Measured(i, v), theirs.Resource(i, list)
			// No intervals of any pod are as good as empty ones of all.
			if want.Recent != nil && got.Recent == nil {
				got.Recent = make([]metric.Recent, len(pods))
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("metric %d (-view +PodMetrics):\n%s", i, diff)
			}
		}
	})
}

func drawContainers(t *rapid.T) []rate.ContainerUsage {
	names := rapid.SampledFrom([][]string{nil, {"app"}, {"app", "proxy"}, {"proxy", "app", "third"}}).Draw(t, "containers")
	at := time.Unix(1000, 0)
	containers := make([]rate.ContainerUsage, len(names))
	for i, name := range names {
		c := rate.ContainerUsage{Name: name, HasCPU: true, HasMemory: true}
		c.MemoryBytes = rapid.Int64Range(1, 1<<40).Draw(t, "memory")
		end := at.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
		c.CPU = rate.Interval{End: end, Span: 15 * time.Second, NanoCores: rapid.Int64Range(0, 1e13).Draw(t, "nanocores")}
		c.UncountedNanoCores = rapid.SampledFrom([]int64{0, 0, 999_999, 250_000_000}).Draw(t, "rest")
		c.RecentCount = rapid.IntRange(1, rate.RecentIntervals).Draw(t, "intervals")
		for k := range c.RecentCount {
			span := time.Duration(rapid.SampledFrom([]int{200, 1000, 1003}).Draw(t, "span")) * time.Millisecond
			c.Recent[k] = rate.Interval{End: end, Span: span, NanoCores: rapid.Int64Range(0, 1e13).Draw(t, "nanocores")}
			end = end.Add(-span)
		}
		containers[i] = c
	}
	return containers
}
