package explained

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// TestVertical: the page of a VPA has the histogram of its checkpoint in cores and bytes, the recommendation, the
// requests of its pods, and the result for each pod.
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
	shape, memoryShape := histogram.ShapeOf(vertical.CPU, 0), histogram.ShapeOf(vertical.Memory, 0)
	want := view.VerticalResource{
		Name: "cpu", Target: ptr.To(0.25), Lower: ptr.To(0.1), Upper: ptr.To(2.0), Uncapped: ptr.To(0.3),
		Histogram: []view.Bar{
			{From: shape.Start(9), To: shape.Start(10), Weight: 0.8}, {From: shape.Start(20), To: shape.Start(21), Weight: 0.2},
		},
		// Nine of ten samples are below the end of the bucket 20.
		Percentiles: []view.Percentile{{Percent: 90, Value: shape.Start(21)}, {Percent: 50, Value: shape.Start(10)},
			{Percent: 95, Value: shape.Start(21)}},
		Requests: []float64{0.1, 0.5},
	}
	if diff := cmp.Diff(want, *cpu, cmpopts.EquateApprox(0, 0.001)); diff != "" {
		t.Error(diff)
	}
	end := memoryShape.Start(14)
	want = view.VerticalResource{
		Name: "memory", Target: ptr.To[float64](200 << 20), Lower: ptr.To[float64](150 << 20), Upper: ptr.To[float64](1 << 30),
		Uncapped: ptr.To[float64](200 << 20), Histogram: []view.Bar{{From: memoryShape.Start(13), To: end, Weight: 1}},
		Percentiles: []view.Percentile{{Percent: 90, Value: end}, {Percent: 50, Value: end}, {Percent: 95, Value: end}},
		Requests:    []float64{128 << 20},
	}
	if diff := cmp.Diff(want, *memory, cmpopts.EquateApprox(0, 1)); diff != "" {
		t.Error(diff)
	}
	for i := range o.Vertical.Pods {
		if p := &o.Vertical.Pods[i]; len(p.Says) == 0 || p.Requests == "" {
			t.Errorf("pod %+v says nothing", p)
		}
	}
}

// TestDamagedHistogram: a checkpoint may have any content.
func TestDamagedHistogram(t *testing.T) {
	for name, weights := range map[string]map[int]uint32{
		"none": nil, "of no weight": {3: 0}, "below the first": {-1: 5}, "beyond the last": {histogram.Buckets: 5, 1 << 60: 7},
	} {
		if bars := barsOf(&vpav1.HistogramCheckpoint{BucketWeights: weights}, vertical.Memory); len(bars) > 0 {
			t.Errorf("%s: %+v", name, bars)
		}
	}
}

// TestEndlessAmount: an infinite quantity is omitted.
func TestEndlessAmount(t *testing.T) {
	if amount := amountOf(list("1e400", "1Gi"), corev1.ResourceCPU); amount != nil {
		t.Errorf("%v", *amount)
	}
	if amount := amountOf(list("1e400", "1Gi"), corev1.ResourceMemory); amount == nil || *amount != 1<<30 {
		t.Errorf("%v", amount)
	}
}
