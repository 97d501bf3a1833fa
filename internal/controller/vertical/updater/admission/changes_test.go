package admission

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

func autoscaler() vpav1.VerticalPodAutoscaler {
	target := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	return vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "vpa-web"},
		Status: vpav1.VerticalPodAutoscalerStatus{
			Recommendation: &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{
				{ContainerName: "app", Target: target, LowerBound: target, UpperBound: target},
			}},
			Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: vpav1.RecommendationProvided,
				Status: corev1.ConditionTrue}},
		},
	}
}

func TestChanges(t *testing.T) {
	made := func(change func(*vpav1.VerticalPodAutoscaler)) *vpav1.VerticalPodAutoscaler {
		vpa := autoscaler()
		change(&vpa)
		return &vpa
	}
	same := made(func(*vpav1.VerticalPodAutoscaler) {})
	for why, tt := range map[string]struct {
		after    *vpav1.VerticalPodAutoscaler
		isChange bool
	}{
		"nothing":             {made(func(*vpav1.VerticalPodAutoscaler) {}), false},
		"a condition":         {made(func(v *vpav1.VerticalPodAutoscaler) { v.Status.Conditions = nil }), false},
		"a recommendation":    {made(func(v *vpav1.VerticalPodAutoscaler) { v.Status.Recommendation = nil }), true},
		"what its owner says": {made(func(v *vpav1.VerticalPodAutoscaler) { v.Generation++ }), true},
		"another object":      {made(func(v *vpav1.VerticalPodAutoscaler) { v.UID = "other" }), true},
		"an amount": {made(func(v *vpav1.VerticalPodAutoscaler) {
			v.Status.Recommendation.ContainerRecommendations[0].Target = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), true},
	} {
		var c Changes
		c.OnUpdate(same, tt.after)
		if left := c.left(time.Now(), tt.after.UID, syncDelay); left > 0 != tt.isChange {
			t.Errorf("%s: %s left", why, left)
		}
	}
	var c Changes
	c.OnAdd(same, true)
	if left := c.left(time.Now(), same.UID, syncDelay); left > 0 {
		t.Errorf("what was there before the start: %s left", left)
	}
	if c.OnAdd(same, false); c.left(time.Now(), same.UID, syncDelay) <= 0 {
		t.Error("a change after the start is not awaited")
	}
	now := time.Now()
	if left := c.left(now.Add(syncDelay), same.UID, syncDelay); left > 0 {
		t.Errorf("%s later: %s left", syncDelay, left)
	}
}

// Old changes are dropped.
func TestChangesAreForgotten(t *testing.T) {
	var c Changes
	now := time.Now()
	for i := range 100 * minSweep {
		now = now.Add(syncDelay / minSweep)
		c.note(now, types.UID(fmt.Sprint(i)))
		if len(c.at) > 3*minSweep {
			t.Fatalf("%d are kept of %d that change within the time of settling", len(c.at), minSweep)
		}
	}
}
