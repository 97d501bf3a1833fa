package reaction

import (
	"context"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

var loadBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// of is a sample of a pod's loaded container.
func of(pod string, seconds, cpuSeconds, mebibytes float64) realnode.Sample {
	return realnode.Sample{
		ContainerName: realnode.ContainerName{Namespace: namespace, Pod: pod, Container: server},
		At:            loadBegan.Add(time.Duration(seconds * float64(time.Second))),
		CPUSeconds:    cpuSeconds, WorkingSetBytes: mebibytes * (1 << 20),
	}
}

// readings are answered one after the other; the last one again and again.
type readings struct {
	answers [][]realnode.Sample
	closed  bool
}

func (r *readings) Read(context.Context) ([]realnode.Sample, error) {
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return answer, nil
}

func (r *readings) Close() error {
	r.closed = true
	return nil
}

// TestFirstSampleWithTheLoad: the target is 4m of a pod's CPU, 8m where the pod has a sidecar, or 32 MiB.
func TestFirstSampleWithTheLoad(t *testing.T) {
	elsewhere := of("a", 1, 9, 900)
	elsewhere.Namespace = "other"
	beside := of("a", 1, 9, 900)
	beside.Container = "sidecar"
	for name, c := range map[string]struct {
		load    Load
		answers [][]realnode.Sample
		want    float64
	}{
		"the first of the pods' samples that are above the target": {
			Article,
			[][]realnode.Sample{
				{of("a", -8, 1, 0), of("b", -3, 1, 0)},
				{of("a", 4.5, 2, 0), of("b", -3, 1, 0)},
			},
			4.5,
		},
		"two at once: the earlier": {
			Article,
			[][]realnode.Sample{{of("a", -8, 1, 0), of("b", -3, 1, 0)}, {of("a", 7, 2, 0), of("b", 6.9, 2, 0)}},
			6.9,
		},
		"a sample of the time before the load, answered later, shows none": {
			Article,
			[][]realnode.Sample{{of("a", -14, 1, 0)}, {of("a", -0.1, 2, 0)}, {of("a", 12, 3, 0)}},
			12,
		},
		"too little of its interval had load: 3m on average": {
			Article,
			[][]realnode.Sample{{of("a", -9.9, 1, 0)}, {of("a", 0.1, 1.03, 0)}, {of("a", 11, 3, 0)}},
			11,
		},
		"with a sidecar, that the pod's target is twice as high": {
			Sidecar,
			[][]realnode.Sample{{of("a", -9.9, 1, 0)}, {of("a", 0.1, 1.06, 0)}, {of("a", 11, 3, 0)}},
			11,
		},
		"others' samples, and those of other containers": {
			Article,
			[][]realnode.Sample{{elsewhere, beside, of("a", -9, 1, 0)}, {of("a", 2, 2, 0)}},
			2,
		},
		"a pod that is new has nothing to compare with": {
			Article,
			[][]realnode.Sample{{}, {of("c", 1, 5, 0)}, {of("c", 12, 6, 0)}},
			12,
		},
		"memory is what it is at that moment": {
			Memory,
			[][]realnode.Sample{{of("a", -1, 1, 16)}, {of("a", 1, 9, 31)}, {of("a", 2, 9, 33)}},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			subject := Subject{Load: c.load}
			pod := deployment((&Real{}).Template(subject)).Spec.Template.Spec
			e := newEvidence(&readings{answers: c.answers}, &pod, c.load.metric(), loadBegan)
			if got, err := e.find(t.Context()); err != nil || got != c.want {
				t.Errorf("after %v s, %v", got, err)
			}
		})
	}
}

// TestFollowEnds: with the load, also if no sample shows it, and without samples.
func TestFollowEnds(t *testing.T) {
	source := &readings{answers: [][]realnode.Sample{{of("a", -1, 1, 0)}}}
	c := Config{Stage: &stage{}}
	for _, samples := range []Samples{source, nil} {
		if got, err := c.follow(t.Context(), Subject{}, samples, loadBegan)(); err != nil || !math.IsNaN(got) {
			t.Errorf("after %v s, %v", got, err)
		}
	}
	if !source.closed {
		t.Error("not closed")
	}
}

// TestTargetOf: of a container alone where the metric is of one.
func TestTargetOf(t *testing.T) {
	for load, want := range map[Load]float64{Article: 0.004, Sidecar: 0.008, TwoContainers: 0.004, Memory: 32 << 20} {
		pod := deployment((&Real{}).Template(Subject{Load: load})).Spec.Template.Spec
		if got := targetOf(&pod, load.metric()); math.Abs(got-want) > want/1e6 {
			t.Errorf("%s: %v", load, got)
		}
	}
	if got := targetOf(&corev1.PodSpec{}, Article.metric()); got != 0 {
		t.Errorf("no containers: %v", got)
	}
}
