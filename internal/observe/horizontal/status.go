package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// Status is the object's status after the decision. The object is only read,
// and the status shares nothing with it. At is when the decision is reported:
// the time of conditions that change and of a scale write.
func Status(old Autoscaler, d *horizontal.Decision, r *statusreport.Report, at time.Time,
) autoscalingv2.HorizontalPodAutoscalerStatus {
	status := *old.Status.DeepCopy()
	for _, c := range r.Conditions {
		c.Since = at
		status.Conditions, _ = conditions.Set(status.Conditions, c)
	}
	generation := old.Generation
	if r.Counts || old.Workload != nil {
		// An HPA whose target cannot be read is not observed, as upstream has it.
		status.ObservedGeneration = &generation
	}
	if !r.Counts {
		return status
	}
	status.CurrentReplicas = r.CurrentReplicas
	if r.DesiredReplicas != nil {
		status.DesiredReplicas = *r.DesiredReplicas
	}
	if r.Rescaled {
		now := metav1.NewTime(at)
		status.LastScaleTime = &now
	}
	status.CurrentMetrics = nil
	if r.ShowMetrics {
		status.CurrentMetrics = currentMetrics(old, d.Metrics)
	}
	return status
}

// conditions are a status's, in the order in which they were first set.
var conditions = condition.List[autoscalingv2.HorizontalPodAutoscalerCondition]{
	Type: func(c *autoscalingv2.HorizontalPodAutoscalerCondition) string { return string(c.Type) }, Read: readCondition,
	Write: writeCondition,
}

func readCondition(c *autoscalingv2.HorizontalPodAutoscalerCondition) condition.Condition {
	return condition.Condition{
		Type: string(c.Type), Status: condition.Status(c.Status), Reason: c.Reason, Message: c.Message,
		Since: c.LastTransitionTime.Time,
	}
}

func writeCondition(c condition.Condition) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		Reason: c.Reason, Message: c.Message, LastTransitionTime: metav1.NewTime(c.Since),
	}
}

// currentMetrics has one entry for each metric of the spec; that of a metric
// that could not be computed is empty, as upstream's. One without values yet keeps its own.
func currentMetrics(old Autoscaler, results []metric.Result) []autoscalingv2.MetricStatus {
	specs, shown := old.Spec.Metrics, old.Status.CurrentMetrics
	statuses := make([]autoscalingv2.MetricStatus, min(len(specs), len(results)))
	for i := range statuses {
		switch {
		case results[i].Failure != nil:
		case results[i].Pending && i < len(shown) && shown[i].Type == specs[i].Type:
			statuses[i] = shown[i]
		case results[i].Pending:
		case IsOwn(old, i):
			statuses[i] = ownStatus(&old.Workload.Spec.Metrics[i], &results[i])
		default:
			statuses[i] = metricStatus(&specs[i], &results[i])
		}
	}
	return statuses
}

func metricStatus(m *autoscalingv2.MetricSpec, r *metric.Result) autoscalingv2.MetricStatus {
	s := autoscalingv2.MetricStatus{Type: m.Type}
	value := resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	switch m.Type {
	case autoscalingv2.ResourceMetricSourceType:
		s.Resource = &autoscalingv2.ResourceMetricStatus{
			Name: m.Resource.Name, Current: resourceCurrent(m.Resource.Name, &m.Resource.Target, r),
		}
	case autoscalingv2.ContainerResourceMetricSourceType:
		c := m.ContainerResource
		s.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: c.Name, Container: c.Container, Current: resourceCurrent(c.Name, &c.Target, r),
		}
	case autoscalingv2.PodsMetricSourceType:
		s.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  *m.Pods.Metric.DeepCopy(),
			Current: autoscalingv2.MetricValueStatus{AverageValue: value},
		}
	case autoscalingv2.ObjectMetricSourceType:
		s.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: m.Object.DescribedObject,
			Metric:          *m.Object.Metric.DeepCopy(),
			Current:         wholeCurrent(value, m.Object.Target.Type == autoscalingv2.AverageValueMetricType),
		}
	case autoscalingv2.ExternalMetricSourceType:
		s.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  *m.External.Metric.DeepCopy(),
			Current: wholeCurrent(value, m.External.Target.AverageValue != nil),
		}
	}
	return s
}

func wholeCurrent(value *resource.Quantity, average bool) autoscalingv2.MetricValueStatus {
	if average {
		return autoscalingv2.MetricValueStatus{AverageValue: value}
	}
	return autoscalingv2.MetricValueStatus{Value: value}
}

// resourceCurrent prints memory in powers of two, as metrics-server does.
func resourceCurrent(name corev1.ResourceName, t *autoscalingv2.MetricTarget, r *metric.Result,
) autoscalingv2.MetricValueStatus {
	format := resource.DecimalSI
	if name == corev1.ResourceMemory {
		format = resource.BinarySI
	}
	current := autoscalingv2.MetricValueStatus{AverageValue: resource.NewMilliQuantity(r.Milli, format)}
	if t.AverageValue == nil {
		percent := r.Percent
		current.AverageUtilization = &percent
	}
	return current
}

// ValueOf is the value of a metric in a status.
func ValueOf(m *autoscalingv2.MetricStatus) autoscalingv2.MetricValueStatus {
	switch {
	case m.Resource != nil:
		return m.Resource.Current
	case m.ContainerResource != nil:
		return m.ContainerResource.Current
	case m.Pods != nil:
		return m.Pods.Current
	case m.Object != nil:
		return m.Object.Current
	case m.External != nil:
		return m.External.Current
	default:
		return autoscalingv2.MetricValueStatus{}
	}
}

// Event is an event on the HPA, as the API has it.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Events are the report's events, in their order.
func Events(r *statusreport.Report) []Event {
	events := make([]Event, len(r.Events))
	for i, e := range r.Events {
		events[i] = Event{Type: corev1.EventTypeNormal, Reason: e.Reason, Message: e.Message}
		if e.Warning {
			events[i].Type = corev1.EventTypeWarning
		}
	}
	return events
}
