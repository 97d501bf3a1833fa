package explained

import (
	"math"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	explainvertical "github.com/plimsoll-dev/plimsoll/internal/explain/vertical"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func podOf(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: ptr.To(true)}}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
			{Name: "app", Resources: corev1.ResourceRequirements{Requests: list(cpu, "128Mi")}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
}

// TestVertical: a VPA shows the histogram of its checkpoint in cores and bytes, what is published, what its pods request,
// and what becomes of each.
func TestVertical(t *testing.T) {
	now := time.Now()
	saved := func(weights map[int]uint32) vpav1.HistogramCheckpoint {
		return vpav1.HistogramCheckpoint{ReferenceTimestamp: metav1.NewTime(now.Truncate(24 * time.Hour)), BucketWeights: weights, TotalWeight: 20}
	}
	e, err := explainvertical.Explain(&snapshotvertical.Step{
		Object: &vpav1.VerticalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
			Status: vpav1.VerticalPodAutoscalerStatus{Recommendation: &vpav1.RecommendedPodResources{
				ContainerRecommendations: []vpav1.RecommendedContainerResources{{
					ContainerName: "app", Target: list("250m", "200Mi"), LowerBound: list("100m", "150Mi"),
					UpperBound: list("2", "1Gi"), UncappedTarget: list("300m", "200Mi")}}}},
		},
		Snapshot: &snapshotvertical.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Time: now},
		Pods:     []*corev1.Pod{podOf("web-1", "100m"), podOf("web-2", "100m"), podOf("web-3", "500m")},
		Checkpoints: []*vpav1.VerticalPodAutoscalerCheckpoint{{
			Spec: vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "web", ContainerName: "app"},
			Status: vpav1.VerticalPodAutoscalerCheckpointStatus{
				Version: "v3", FirstSampleStart: metav1.NewTime(now.Add(-48 * time.Hour)), LastSampleStart: metav1.NewTime(now),
				TotalSamplesCount: 2000, CPUHistogram: saved(map[int]uint32{9: 10000, 20: 2500}),
				MemoryHistogram: saved(map[int]uint32{13: 10000}),
			},
		}},
	}, verticaldivergence.None)
	if err != nil {
		t.Fatal(err)
	}
	o := &view.Object{}
	AddVertical(o, e)
	if len(o.Vertical.Containers) != 1 || len(o.Vertical.Pods) != 3 {
		t.Fatalf("%+v", o.Vertical)
	}
	cpu, memory := &o.Vertical.Containers[0].Resources[0], &o.Vertical.Containers[0].Resources[1]
	if cpu.Name != "cpu" || memory.Name != "memory" || o.Vertical.Containers[0].Samples != 2000 {
		t.Fatalf("%+v", o.Vertical.Containers[0])
	}
	if *cpu.Target != 0.25 || *cpu.Lower != 0.1 || *cpu.Upper != 2 || *cpu.Uncapped != 0.3 || *memory.Target != 200<<20 {
		t.Errorf("published %+v and %+v", cpu, memory)
	}
	shape := histogram.ShapeOf(vertical.CPU, 0)
	if len(cpu.Histogram) != 2 || cpu.Histogram[0].Weight != 0.8 || cpu.Histogram[1].Weight != 0.2 ||
		cpu.Histogram[0].From != shape.Start(9) || cpu.Histogram[0].To != shape.Start(10) || len(memory.Histogram) != 1 {
		t.Errorf("histograms %+v and %+v", cpu.Histogram, memory.Histogram)
	}
	// Nine of ten samples are below the end of the bucket 20.
	if len(cpu.Percentiles) != 3 || cpu.Percentiles[0].Percent != 90 ||
		math.Abs(cpu.Percentiles[0].Value-shape.Start(21)) > 0.001 || memory.Percentiles[0].Value < 1<<20 {
		t.Errorf("percentiles %+v and %+v, want 90 %% to be %v", cpu.Percentiles, memory.Percentiles, shape.Start(21))
	}
	if len(cpu.Requests) != 2 || cpu.Requests[0] != 0.1 || cpu.Requests[1] != 0.5 {
		t.Errorf("requests %v", cpu.Requests)
	}
	for i := range o.Vertical.Pods {
		if p := &o.Vertical.Pods[i]; len(p.Says) == 0 || p.Requests == "" {
			t.Errorf("pod %+v says nothing", p)
		}
	}
}

// TestDamagedHistogram: a checkpoint may have anything in it.
func TestDamagedHistogram(t *testing.T) {
	for name, weights := range map[string]map[int]uint32{
		"none": nil, "of no weight": {3: 0}, "below the first": {-1: 5}, "beyond the last": {histogram.Buckets: 5, 1 << 60: 7},
	} {
		if bars := barsOf(&vpav1.HistogramCheckpoint{BucketWeights: weights}, vertical.Memory); len(bars) > 0 {
			t.Errorf("%s: %+v", name, bars)
		}
	}
}
