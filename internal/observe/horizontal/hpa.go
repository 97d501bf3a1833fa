package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// hpaAdapter is the adapter of HPAs.
type hpaAdapter autoscalingv2.HorizontalPodAutoscaler

var _ adapter = (*hpaAdapter)(nil)

func (*hpaAdapter) Kind() observe.Kind { return observe.HorizontalPodAutoscaler }

func (h *hpaAdapter) Object() runtime.Object { return (*autoscalingv2.HorizontalPodAutoscaler)(h) }

func (h *hpaAdapter) Target() autoscalingv2.CrossVersionObjectReference { return h.Spec.ScaleTargetRef }

func (h *hpaAdapter) MinReplicas() *int32 { return h.Spec.MinReplicas }

func (h *hpaAdapter) MaxReplicas() int32 { return h.Spec.MaxReplicas }

func (h *hpaAdapter) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return h.Spec.Behavior
}

// noExtras are the extras of an HPA: none.
var noExtras plimsollv1alpha1.WorkloadAutoscalerSpec

func (*hpaAdapter) extras() *plimsollv1alpha1.WorkloadAutoscalerSpec { return &noExtras }

func (h *hpaAdapter) spec() any { return &h.Spec }

func (h *hpaAdapter) metrics() any { return &h.Spec.Metrics }

func (h *hpaAdapter) status() any { return &h.Status }

func (h *hpaAdapter) besides() string { return h.Annotations[ForecastAnnotation] }

func (h *hpaAdapter) NumMetrics() int { return len(h.Spec.Metrics) }

func (h *hpaAdapter) typeOf(i int) source.Type { return source.Type(h.Spec.Metrics[i].Type) }

func (h *hpaAdapter) Metric(i int) Metric {
	m := &h.Spec.Metrics[i]
	of := Metric{Type: source.Type(m.Type), HasSource: true}
	switch {
	case of.Type == source.Resource && m.Resource != nil:
		of.Name, of.Target = string(m.Resource.Name), m.Resource.Target
	case of.Type == source.ContainerResource && m.ContainerResource != nil:
		of.Name, of.Container = string(m.ContainerResource.Name), m.ContainerResource.Container
		of.Target = m.ContainerResource.Target
	case of.Type == source.Pods && m.Pods != nil:
		of.identify(m.Pods.Metric, m.Pods.Target)
	case of.Type == source.Object && m.Object != nil:
		of.identify(m.Object.Metric, m.Object.Target)
		of.Object = m.Object.DescribedObject
	case of.Type == source.External && m.External != nil:
		of.identify(m.External.Metric, m.External.Target)
	default:
		of.HasSource = false
	}
	return of
}

func (h *hpaAdapter) Counts() Counts {
	s := &h.Status
	return Counts{s.ObservedGeneration, s.LastScaleTime, s.CurrentReplicas, s.DesiredReplicas}
}

func (h *hpaAdapter) Condition(kind string) condition.Condition {
	for i := range h.Status.Conditions {
		if c := &h.Status.Conditions[i]; string(c.Type) == kind {
			return readCondition(c)
		}
	}
	return condition.Condition{}
}

func (h *hpaAdapter) conditions() []condition.Condition {
	all := make([]condition.Condition, len(h.Status.Conditions))
	for i := range all {
		all[i] = readCondition(&h.Status.Conditions[i])
	}
	return all
}

func readCondition(c *autoscalingv2.HorizontalPodAutoscalerCondition) condition.Condition {
	return condition.Condition{
		Type: string(c.Type), Status: condition.Status(c.Status), Reason: c.Reason, Message: c.Message,
		Since: c.LastTransitionTime.Time,
	}
}

// writeCondition leaves alone what only the API has of a condition, as upstream does.
func writeCondition(c *condition.Condition, to *autoscalingv2.HorizontalPodAutoscalerCondition) {
	to.Type, to.Status = autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), corev1.ConditionStatus(c.Status)
	to.Reason, to.Message, to.LastTransitionTime = c.Reason, c.Message, metav1.NewTime(c.Since)
}

func (h *hpaAdapter) numShown() int { return len(h.Status.CurrentMetrics) }

func (h *hpaAdapter) shown(i int) MetricValue {
	m := &h.Status.CurrentMetrics[i]
	v := ValueOf(m)
	return MetricValue{source.Type(m.Type), v.Value, v.AverageValue, v.AverageUtilization, true}
}

// StatusOfHPA converts a status that StatusAfter returned for the HPA. The HPA is only read.
func StatusOfHPA(hpa *autoscalingv2.HorizontalPodAutoscaler, s *Status) autoscalingv2.HorizontalPodAutoscalerStatus {
	status := *hpa.Status.DeepCopy()
	shown := status.CurrentMetrics
	status.ObservedGeneration, status.LastScaleTime = s.ObservedGeneration, s.LastScaleTime
	status.CurrentReplicas, status.DesiredReplicas = s.CurrentReplicas, s.DesiredReplicas
	status.CurrentMetrics = nil
	for i := range s.Conditions {
		if i == len(status.Conditions) {
			status.Conditions = append(status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{})
		}
		writeCondition(&s.Conditions[i], &status.Conditions[i])
	}
	if s.Metrics != nil {
		// An empty list if the spec has no metrics, as upstream.
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

// ValueOf returns the value of a metric in the status of an HPA.
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
