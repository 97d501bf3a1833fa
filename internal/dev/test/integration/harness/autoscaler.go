package harness

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
)

// Autoscaler scales the Deployment of the same name between 1 and 10 replicas, without behavior. Tests change what
// they need otherwise.
func Autoscaler(name string, metrics ...autoscalingv2.MetricSpec) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    ptr.To[int32](1), MaxReplicas: 10, Metrics: metrics,
		},
	}
}

// DownAtOnce is a behavior that scales down without waiting for the five minutes of the default.
func DownAtOnce() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0)},
	}
}

// Utilization is a target in percent of the request.
func Utilization(percent int32) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}
}

// Value is a target for a metric as a whole.
func Value(quantity string) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse(quantity))}
}

// AverageValue is a target for a metric's part per pod.
func AverageValue(quantity string) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{
		Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse(quantity)),
	}
}

// Resource is a metric of metrics-server over the pods.
func Resource(name corev1.ResourceName, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type:     autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: target},
	}
}

// ContainerResource is a metric of metrics-server over one container of each pod.
func ContainerResource(
	container string, name corev1.ResourceName, target autoscalingv2.MetricTarget,
) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type:              autoscalingv2.ContainerResourceMetricSourceType,
		ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Name: name, Container: container, Target: target},
	}
}

// PodRequests is the adapter's metric of what each pod serves per second.
func PodRequests(target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.PodsMetricSourceType,
		Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: adapter.MetricPodRequests}, Target: target,
		},
	}
}

// ServiceRequests is the adapter's metric of what a Service is offered per second: the load, however many pods
// there are.
func ServiceRequests(service string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ObjectMetricSourceType,
		Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: service},
			Metric:          autoscalingv2.MetricIdentifier{Name: adapter.MetricServiceRequests}, Target: target,
		},
	}
}

// QueueLength is the adapter's metric of requests that wait for a Service; see Queue.
func QueueLength(service string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{
				Name:     adapter.MetricQueueLength,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"service": service}},
			},
			Target: target,
		},
	}
}
