package horizontal

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// second is a pod's use in the second that ended so many seconds ago.
func second(name string, ago int, cpus ...string) metricsv1beta1.PodMetrics {
	m := used(name, cpus...)
	m.Timestamp.Time, m.Window.Duration = noon.Add(-time.Duration(ago)*time.Second), time.Second
	MarkWindow(&m, SurgeWindow)
	return m
}

func intervals(milli ...int64) metric.Recent {
	var r metric.Recent
	for i, m := range milli {
		r[i] = metric.Sample{Present: true, Milli: m, At: noon.Add(-time.Duration(i) * time.Second), Window: time.Second}
	}
	return r
}

func TestIntervals(t *testing.T) {
	two := []*corev1.Pod{podOf("p1", "100m"), podOf("p2", "100m")}
	memory := cpuAverage
	memory.Name = "memory"
	for name, tt := range map[string]struct {
		reason string
		spec   source.Spec
		items  []metricsv1beta1.PodMetrics
		want   []metric.Recent
	}{
		"none": {
			reason: "metrics.k8s.io has none", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{used("p1", "1")},
		},
		"in any order": {
			reason: "the newest first, beside the average, of both pods", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{
				second("p2", 1, "21m"), second("p1", 2, "12m"), used("p1", "1"), second("p1", 0, "10m"), second("p2", 0, "20m"),
				second("p1", 1, "11m"),
			},
			want: []metric.Recent{intervals(10, 11, 12), intervals(20, 21)},
		},
		"more than three": {
			reason: "the newest three", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{second("p1", 3, "1"), second("p1", 1, "11m"), second("p1", 2, "12m"),
				second("p1", 0, "10m"), second("p1", 4, "1")},
			want: []metric.Recent{intervals(10, 11, 12), {}},
		},
		"sum of containers": {
			reason: "as of averages", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{second("p1", 0, "10m", "5m")},
			want:  []metric.Recent{intervals(15), {}},
		},
		"one container": {
			reason: "the named one's", spec: cpuOfB,
			items: []metricsv1beta1.PodMetrics{second("p1", 0, "10m", "5m")},
			want:  []metric.Recent{intervals(5), {}},
		},
		"one container by itself": {
			reason: "what is about it alone has its own times; of what is about others nothing is known of it", spec: cpuOfB,
			items: []metricsv1beta1.PodMetrics{
				second("p1", 3, "10m", "5m"), about("b", second("p1", 0, "", "7m")), about("a", second("p1", 1, "9m")),
				about("b", second("p1", 2, "", "8m")),
			},
			want: []metric.Recent{{intervals(7)[0], intervals(0, 0, 8)[2]}, {}},
		},
		"other containers by themselves": {
			reason: "whole pods are", spec: cpuOfB,
			items: []metricsv1beta1.PodMetrics{second("p1", 0, "10m", "5m"), about("a", second("p1", 1, "9m"))},
			want:  []metric.Recent{intervals(5), {}},
		},
		"whole pods": {
			reason: "what is about one container is not about its pod", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{about("a", second("p1", 1, "9m")), second("p1", 0, "10m", "5m")},
			want:  []metric.Recent{intervals(15), {}},
		},
		"a gap": {
			reason: "what lies before it is not in a row with what lies behind it", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{second("p1", 0, "10m"), second("p1", 1, ""), second("p1", 2, "12m")},
			want:  []metric.Recent{intervals(10), {}},
		},
		"memory": {
			reason: "it has no intervals", spec: memory,
			items: []metricsv1beta1.PodMetrics{used("p1", "1"), second("p1", 0, "10m")},
		},
		"a pod that is not among the pods": {
			reason: "it has no target", spec: cpuAverage,
			items: []metricsv1beta1.PodMetrics{second("x", 0, "10m")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := NewAnswers(policyOf(divergence.Default, tt.spec), observe.PodsOf(two))
			for range 2 { // the buffers are used again
				got := answers.Resource(0, &metricsv1beta1.PodMetricsList{Items: tt.items})
				if diff := cmp.Diff(tt.want, got.Recent); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
				}
				if len(got.Extraneous) > 0 {
					t.Errorf("an interval is taken for an average: %v", got.Extraneous)
				}
				rand.Shuffle(len(tt.items), func(i, j int) { tt.items[i], tt.items[j] = tt.items[j], tt.items[i] })
			}
		})
	}
}

// about marks PodMetrics of one container alone.
func about(container string, m metricsv1beta1.PodMetrics) metricsv1beta1.PodMetrics {
	m.Annotations[ContainerAnnotation] = container
	return m
}

// TestIntervalIsNoAverage: a pod with intervals alone has no sample.
func TestIntervalIsNoAverage(t *testing.T) {
	answers := NewAnswers(policyOf(divergence.Default, cpuAverage), observe.PodsOf([]*corev1.Pod{podOf("p1", "100m")}))
	got := answers.Resource(0, &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{second("p1", 0, "1")}})
	if got.Samples[0].Present {
		t.Errorf("got %+v", got.Samples[0])
	}
}
