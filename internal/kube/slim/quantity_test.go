package slim

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// The API server stores 1e999999999 in pods and HorizontalPodAutoscalers. Whatever
// reads the caches may compare it with another.
func TestCachesHoldNoQuantityThatIsRuinousToCompareWith(t *testing.T) {
	huge := resource.MustParse("1e999999999")
	for name, transform := range map[string]func(any) (any, error){"Transform": Transform,
		"Horizontal": Horizontal, "Shared": Shared} {
		object, err := transform(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": huge}}},
		}}})
		if pod, ok := Pod(object); ok {
			if q := pod.Spec.Containers[0].Resources.Requests["cpu"]; !quantity.IsBounded(&q) {
				t.Errorf("%s: pod with %s", name, q.String())
			}
		}
		if err != nil {
			t.Error(name, err)
		}
		object, err = transform(&autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			Metrics: []autoscalingv2.MetricSpec{{Resource: &autoscalingv2.ResourceMetricSource{
				Target: autoscalingv2.MetricTarget{AverageValue: &huge}}}},
		}})
		hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok || err != nil || !quantity.IsBounded(hpa.Spec.Metrics[0].Resource.Target.AverageValue) {
			t.Errorf("%s: %v, %v", name, object, err)
		}
	}
}
