package slim

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// The API server stores 1e999999999 in pods and HorizontalPodAutoscalers. Readers of the caches may compare it with
// another quantity.
func TestCachesHoldNoQuantityThatIsRuinousToCompareWith(t *testing.T) {
	huge := resource.MustParse("1e999999999")
	object, err := Transform(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": huge}}},
	}}})
	pod, ok := object.(*corev1.Pod)
	if !ok || err != nil {
		t.Fatalf("%v, %v", object, err)
	}
	if q := pod.Spec.Containers[0].Resources.Requests["cpu"]; !quantity.IsBounded(&q) {
		t.Errorf("a pod with %s", q.String())
	}
	object, err = Transform(&autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		Metrics: []autoscalingv2.MetricSpec{{Resource: &autoscalingv2.ResourceMetricSource{
			Target: autoscalingv2.MetricTarget{AverageValue: &huge}}}},
	}})
	hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok || err != nil || !quantity.IsBounded(hpa.Spec.Metrics[0].Resource.Target.AverageValue) {
		t.Errorf("%v, %v", object, err)
	}
}
