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

// ownStatus is the status of a metric that Plimsoll reads itself. autoscaling/v2 has no fields for these: a metric of
// the pods has those of type Pods, another one those of type External.
func ownStatus(m *plimsollv1alpha1.MetricSpec, r *metric.Result) autoscalingv2.MetricStatus {
	s := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(m.Type)}
	value := resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	id := autoscalingv2.MetricIdentifier{Name: sources.Name(m)}
	current := wholeCurrent(value, !sources.IsTotal(m))
	if m.PodEndpoint == nil {
		s.External = &autoscalingv2.ExternalMetricStatus{Metric: id, Current: current}
		return s
	}
	id.Selector = m.PodEndpoint.Metric.Selector.DeepCopy()
	s.Pods = &autoscalingv2.PodsMetricStatus{Metric: id, Current: current}
	return s
}
