package podusage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestPodMetricsEqualTheView: reading a view's PodMetrics gives the same as reading the view, whatever the times of a
// pod's containers.
func TestPodMetricsEqualTheView(t *testing.T) {
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
		if err := v.Look(time.Unix(1100, 0), len(pods), &drawn{pods: pods, containers: drawContainers(t, len(pods))}); err != nil {
			t.Fatal(err)
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

// drawn reads pods in arbitrary states.
type drawn struct {
	pods       []*observe.Pod
	containers [][]podload.Container
}

func (d *drawn) Pod(i int) (*metric.Pod, string) { return &d.pods[i].Pod, d.pods[i].Node() }

func (d *drawn) Agent(_ int, dst []podload.Container) ([]podload.Container, bool) { return dst, false }

func (d *drawn) Kubelet(i int, dst []podload.Container) []podload.Container {
	return append(dst, d.containers[i]...)
}

func (d *drawn) Health(string) podload.Health { return podload.Health{Since: time.Unix(500, 0)} }

func drawContainers(t *rapid.T, pods int) [][]podload.Container {
	all := make([][]podload.Container, pods)
	for i := range all {
		names := rapid.SampledFrom([][]string{{"app"}, {"app", "proxy"}, {"proxy", "app", "third"}}).Draw(t, "containers")
		for _, name := range names {
			c := podload.Container{Name: name, MemoryBytes: rapid.Int64Range(1, 1<<40).Draw(t, "memory")}
			at, burnt := int64(1_000_000), int64(1)
			c.CPU.Begin(at, burnt)
			for range rapid.IntRange(1, 6).Draw(t, "intervals") {
				at += rapid.SampledFrom([]int64{200, 1000, 1003, 12_000}).Draw(t, "gap")
				burnt += rapid.Int64Range(0, 1e13).Draw(t, "nanoseconds")
				c.CPU.Add(at, burnt, averaging.Reach.Milliseconds())
			}
			all[i] = append(all[i], c)
		}
	}
	return all
}
