package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// IsOwn reports whether metric i of the object is one that Plimsoll reads itself.
func IsOwn(a Autoscaler, i int) bool {
	return a.Workload != nil && i < len(a.Workload.Spec.Metrics) && sources.Name(&a.Workload.Spec.Metrics[i]) != ""
}

// ownStatus is the status of a metric that Plimsoll reads itself, as far as the loop needs it. autoscaling/v2 has no
// fields for these.
func ownStatus(m *plimsollv1alpha1.MetricSpec, r *metric.Result) autoscalingv2.MetricStatus {
	value := resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	return statusOf(m.Type, wholeCurrent(value, !sources.IsTotal(m)))
}

// statusOf is a metric's status that has a value and none of what names the metric.
func statusOf(kind plimsollv1alpha1.MetricSourceType, v autoscalingv2.MetricValueStatus) autoscalingv2.MetricStatus {
	return autoscalingv2.MetricStatus{
		Type: autoscalingv2.MetricSourceType(kind), External: &autoscalingv2.ExternalMetricStatus{Current: v},
	}
}
