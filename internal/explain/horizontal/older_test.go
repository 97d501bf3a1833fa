package horizontal

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

func TestOlderKubernetes(t *testing.T) {
	applied := map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"spec":{"behavior":{"scaleUp":{"tolerance":"0.05"}}}}`,
	}
	kept := &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: &autoscalingv2.HPAScalingRules{Tolerance: ptr.To(resource.MustParse("0.05"))},
	}
	zero := autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: ptr.To[int32](0)}
	noted := autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
		{Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionFalse},
	}}
	containers := autoscalingv2.HorizontalPodAutoscalerSpec{
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType}},
	}
	for name, tt := range map[string]struct {
		hpa     autoscalingv2.HorizontalPodAutoscaler
		branch  horizontal.Branch
		by      Controller
		version string
		want    string
	}{
		"a tolerance that was dropped": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Annotations: applied}},
			by:  Plimsoll, version: "v1.34.4", want: "the tolerance that was applied is not stored: v1.34.4 drops it",
		},
		"one that was kept": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Annotations: applied},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{Behavior: kept}},
			by: Plimsoll, version: "v1.34.4",
		},
		"one that was taken away by hand": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Annotations: applied}},
			by:  Plimsoll, version: "v1.35.4",
		},
		"none, and no configuration that was applied": {by: Upstream, version: "v1.30.14"},
		"zero, upstream's": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: zero}, branch: horizontal.BranchDisabled,
			by: Upstream, version: "v1.35.4", want: "of v1.35.4 may scale up from zero replicas whoever has set them",
		},
		"zero, taken over": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: zero}, branch: horizontal.BranchDisabled,
			by: Plimsoll, version: "v1.35.4", want: "scale the target to 1, and Plimsoll decides again",
		},
		"zero, and noted": {
			hpa:    autoscalingv2.HorizontalPodAutoscaler{Spec: zero, Status: noted},
			branch: horizontal.BranchDisabled, by: Plimsoll, version: "v1.35.4",
		},
		"zero, taken over of a loop without the gate": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: zero}, branch: horizontal.BranchDisabled,
			by: Plimsoll, version: "v1.36.3", want: "scale the target to 1, and Plimsoll decides again",
		},
		"zero, of a loop that leaves it": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: zero}, branch: horizontal.BranchDisabled,
			by: Upstream, version: "v1.36.3",
		},
		"zero, on a version that notes it": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: zero}, branch: horizontal.BranchDisabled,
			by: Plimsoll, version: "v1.37.1",
		},
		"containers, upstream's": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: containers}, by: Upstream, version: "v1.32.13",
			want: "of v1.32.13 fails a ContainerResource metric as a whole",
		},
		"containers, Plimsoll's": {
			hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: containers}, by: Plimsoll, version: "v1.32.13",
		},
		"no version": {hpa: autoscalingv2.HorizontalPodAutoscaler{Spec: containers}, by: Upstream},
	} {
		e := &Explanation{Controller: tt.by}
		e.Decision.Branch = horizontal.BranchMetrics
		if tt.branch != 0 {
			e.Decision.Branch = tt.branch
		}
		e.AddOlder(&tt.hpa, func() string { return tt.version })
		if got := strings.Join(e.Older, "\n"); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestVersionIsReadOnlyIfNeeded: most HPAs mean the same on all versions, and explain makes enough requests.
func TestVersionIsReadOnlyIfNeeded(t *testing.T) {
	(&Explanation{Controller: Upstream}).AddOlder(&autoscalingv2.HorizontalPodAutoscaler{}, func() string {
		t.Error("the version was read")
		return ""
	})
}
