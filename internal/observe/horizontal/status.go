package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// Status is a status in one form for both kinds. Those who write it add what only their kind has.
type Status struct {
	Counts
	// Conditions are in the order in which they were first set. Those of a WorkloadAutoscaler that sum up others are
	// not among them: they follow from these.
	Conditions []condition.Condition
	Metrics    []MetricValue
}

// MetricValue is the value of a metric in a status. Of a metric without a value all of it is empty.
type MetricValue struct {
	Type                source.Type
	Value, AverageValue *resource.Quantity
	AverageUtilization  *int32
	// isKept says that it is the value that the status shows, and not of the decision.
	isKept bool
}

// Status is the object's status.
func (a Autoscaler) Status() Status {
	s := Status{Counts: a.Counts()}
	if a.IsWorkload() {
		s.Conditions = make([]condition.Condition, 0, len(a.Workload.Status.Conditions))
		for i := range a.Workload.Status.Conditions {
			if c := &a.Workload.Status.Conditions[i]; !statusreport.IsOverall(c.Type) {
				s.Conditions = append(s.Conditions, conditionOfWorkload(c))
			}
		}
	} else {
		s.Conditions = make([]condition.Condition, len(a.HPA.Status.Conditions))
		for i := range s.Conditions {
			s.Conditions[i] = conditionOfHPA(&a.HPA.Status.Conditions[i])
		}
	}
	if n := a.numShown(); n > 0 {
		s.Metrics = make([]MetricValue, n)
	}
	for i := range s.Metrics {
		s.Metrics[i] = a.shown(i)
	}
	return s
}

// numShown is how many metrics the status shows.
func (a Autoscaler) numShown() int {
	if a.IsWorkload() {
		return len(a.Workload.Status.Metrics)
	}
	return len(a.HPA.Status.CurrentMetrics)
}

// shown is metric i of the status.
func (a Autoscaler) shown(i int) MetricValue {
	if a.IsWorkload() {
		return valueOfWorkload(&a.Workload.Status.Metrics[i])
	}
	m := &a.HPA.Status.CurrentMetrics[i]
	v := ValueOf(m)
	return MetricValue{source.Type(m.Type), v.Value, v.AverageValue, v.AverageUtilization, true}
}

// valueOfWorkload is empty where there is no value, as in the status of an HPA.
func valueOfWorkload(m *plimsollv1alpha1.MetricStatus) MetricValue {
	if m.Value == nil && m.AverageValue == nil && m.AverageUtilization == nil {
		return MetricValue{isKept: true}
	}
	return MetricValue{source.Type(m.Type), m.Value, m.AverageValue, m.AverageUtilization, true}
}

// StatusAfter is the object's status after the decision. The object is only read. At is when the decision is reported:
// the time of conditions that change and of a scale write.
func StatusAfter(a Autoscaler, d *horizontal.Decision, r *statusreport.Report, at time.Time) Status {
	status := a.Status()
	for _, c := range r.Conditions {
		c.Since = at
		status.Conditions, _ = condition.Unsorted.Set(status.Conditions, c)
	}
	if r.Counts || a.IsWorkload() {
		// An HPA whose target cannot be read is not observed, as upstream has it.
		generation := a.Generation
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
	shown := status.Metrics
	status.Metrics = nil
	if r.ShowMetrics {
		status.Metrics = metricsAfter(a, shown, d.Metrics)
	}
	return status
}

// metricsAfter has one entry for each metric of the spec; that of a metric
// that could not be computed is empty, as upstream's. One without values yet keeps its own.
func metricsAfter(a Autoscaler, shown []MetricValue, results []metric.Result) []MetricValue {
	values := make([]MetricValue, min(a.NumMetrics(), len(results)))
	for i := range values {
		m := a.Metric(i)
		switch {
		case results[i].Failure != nil:
		case results[i].Pending && i < len(shown) && shown[i].Type == m.Type:
			values[i] = shown[i]
		case results[i].Pending:
		default:
			values[i] = valueAfter(&m, &results[i])
		}
	}
	return values
}

func valueAfter(m *Metric, r *metric.Result) MetricValue {
	v := MetricValue{Type: m.Type}
	isResource := m.Type == source.Resource || m.Type == source.ContainerResource
	switch {
	case isResource && m.Name == string(corev1.ResourceMemory):
		// In powers of two, as metrics-server prints it.
		v.AverageValue = resource.NewMilliQuantity(r.Milli, resource.BinarySI)
	case m.IsTotal:
		v.Value = resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	default:
		v.AverageValue = resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	}
	if isResource && m.Target.AverageValue == nil {
		percent := r.Percent
		v.AverageUtilization = &percent
	}
	return v
}

// StatusOfHPA is a status that StatusAfter returned for the HPA, as the API has it. It shares nothing with the HPA.
func StatusOfHPA(hpa *autoscalingv2.HorizontalPodAutoscaler, s *Status) autoscalingv2.HorizontalPodAutoscalerStatus {
	status := *hpa.Status.DeepCopy()
	shown := status.CurrentMetrics
	status.ObservedGeneration, status.LastScaleTime = s.ObservedGeneration, s.LastScaleTime
	status.CurrentReplicas, status.DesiredReplicas = s.CurrentReplicas, s.DesiredReplicas
	status.Conditions, status.CurrentMetrics = status.Conditions[:0], nil
	for _, c := range s.Conditions {
		status.Conditions = append(status.Conditions, writeCondition(c))
	}
	if s.Metrics != nil {
		// An empty list where the spec has no metrics, as upstream's.
		status.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(s.Metrics))
	}
	for i := range s.Metrics {
		switch v := &s.Metrics[i]; {
		case v.isKept:
			status.CurrentMetrics[i] = shown[i]
		case v.Type != "":
			status.CurrentMetrics[i] = metricStatus(&hpa.Spec.Metrics[i], v)
		}
	}
	return status
}

func metricStatus(m *autoscalingv2.MetricSpec, v *MetricValue) autoscalingv2.MetricStatus {
	s := autoscalingv2.MetricStatus{Type: m.Type}
	current := autoscalingv2.MetricValueStatus{
		Value: v.Value, AverageValue: v.AverageValue, AverageUtilization: v.AverageUtilization,
	}
	switch m.Type {
	case autoscalingv2.ResourceMetricSourceType:
		s.Resource = &autoscalingv2.ResourceMetricStatus{Name: m.Resource.Name, Current: current}
	case autoscalingv2.ContainerResourceMetricSourceType:
		s.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: m.ContainerResource.Name, Container: m.ContainerResource.Container, Current: current,
		}
	case autoscalingv2.PodsMetricSourceType:
		s.Pods = &autoscalingv2.PodsMetricStatus{Metric: *m.Pods.Metric.DeepCopy(), Current: current}
	case autoscalingv2.ObjectMetricSourceType:
		s.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: m.Object.DescribedObject, Metric: *m.Object.Metric.DeepCopy(), Current: current,
		}
	case autoscalingv2.ExternalMetricSourceType:
		s.External = &autoscalingv2.ExternalMetricStatus{Metric: *m.External.Metric.DeepCopy(), Current: current}
	}
	return s
}

// ValueOf is the value of a metric in the status of an HPA.
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
