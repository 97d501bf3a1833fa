package horizontal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// usageOf has the use of each pod.
type usageOf []int64

func (u usageOf) IsEmpty() bool { return len(u) == 0 }

func (u usageOf) Sample(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Sample {
	return sampleOf(u[pod])
}

func (u usageOf) Recent(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Recent {
	return intervals(u[pod])
}

func (u usageOf) Earlier(pod int, spec *source.Spec, _ arithmetic.Mode) metric.Sample {
	if spec.Name != source.CPU {
		return metric.Sample{}
	}
	sample := sampleOf(u[pod])
	sample.Milli /= 2
	return sample
}

func TestMeasured(t *testing.T) {
	two := []*corev1.Pod{podOf("p1", "100m"), podOf("p2", "100m")}
	memory := cpuUtilization
	memory.Name = "memory"
	answers := NewAnswers(policyOf(divergence.Default, cpuAverage, memory), observe.PodsOf(two))
	want := metric.Reading{
		Samples: []metric.Sample{sampleOf(10), sampleOf(20)}, Recent: []metric.Recent{intervals(10), intervals(20)},
		Earlier: []metric.Sample{sampleOf(5), sampleOf(10)},
	}
	if diff := cmp.Diff(want, answers.Measured(0, usageOf{10, 20})); diff != "" {
		t.Errorf("CPU (-want +got):\n%s", diff)
	}
	want = metric.Reading{
		Samples: []metric.Sample{sampleOf(10), sampleOf(20)},
		Requests: []metric.Request{{Missing: metric.ContainerWithoutRequest, Container: "a"},
			{Missing: metric.ContainerWithoutRequest, Container: "a"}},
	}
	if diff := cmp.Diff(want, answers.Measured(1, usageOf{10, 20})); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	if got := answers.Measured(0, usageOf{}); !got.Empty {
		t.Errorf("nothing is known: %+v", got)
	}
}

// TestMeasuredBeyondAnyMachine: values of kubelets are checked as those of metrics.k8s.io.
func TestMeasuredBeyondAnyMachine(t *testing.T) {
	two := []*corev1.Pod{podOf("p1", "100m"), podOf("p2", "100m")}
	memory := cpuAverage
	memory.Name = "memory"
	for name, tt := range map[string]struct {
		metric int
		most   int64
	}{"a million CPUs": {0, 1e6 * 1000}, "a pebibyte": {1, 1 << 50 * 1000}} {
		for set, doubted := range map[divergence.Set]bool{divergence.Default: true, divergence.None: false} {
			answers := NewAnswers(policyOf(set, cpuAverage, memory), observe.PodsOf(two))
			if got := answers.Measured(tt.metric, usageOf{1, tt.most}); got.Error != "" {
				t.Errorf("%s: %s", name, got.Error)
			}
			if got := answers.Measured(tt.metric, usageOf{1, tt.most + 1}); strings.Contains(got.Error,
				"implausible value of pod p2") != doubted {
				t.Errorf("more than %s with divergences %s: %q", name, set, got.Error)
			}
		}
	}
}
