package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Metric is a metric of a spec, in one form for both kinds. It shares the spec's memory.
type Metric struct {
	Type source.Type
	// HasSource says that the spec has the source of this type. Without it the rest is empty.
	HasSource bool
	// Name is the resource's or the metric's, and Container that of a resource metric of one container.
	Name, Container string
	// Selector and Object are what a metrics API is asked for.
	Selector *metav1.LabelSelector
	Object   autoscalingv2.CrossVersionObjectReference
	Target   autoscalingv2.MetricTarget
	// IsTotal says that the value that is compared is not an average over pods.
	IsTotal bool
	// IsOwn says that Plimsoll reads the metric itself. IsOwnTarget says that its source names the target.
	IsOwn, IsOwnTarget bool
}

// NumMetrics is how many metrics the spec has.
func (a Autoscaler) NumMetrics() int {
	if a.IsWorkload() {
		return len(a.Workload.Spec.Metrics)
	}
	return len(a.HPA.Spec.Metrics)
}

// Metric is metric i of the spec.
func (a Autoscaler) Metric(i int) Metric {
	if a.IsWorkload() {
		return metricOfWorkload(&a.Workload.Spec.Metrics[i])
	}
	return metricOfHPA(&a.HPA.Spec.Metrics[i])
}

// IsOwn reports whether metric i of the object is one that Plimsoll reads itself.
func (a Autoscaler) IsOwn(i int) bool {
	return a.IsWorkload() && i < a.NumMetrics() && a.Metric(i).IsOwn
}

func metricOfHPA(m *autoscalingv2.MetricSpec) Metric {
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

func metricOfWorkload(m *plimsollv1alpha1.MetricSpec) Metric {
	of := Metric{Type: source.Type(m.Type), HasSource: true}
	switch {
	case of.Type == source.Resource && m.Resource != nil:
		of.Name, of.Target = m.Resource.Name, targetOf(&m.Resource.Target)
	case of.Type == source.ContainerResource && m.ContainerResource != nil:
		of.Name, of.Container = m.ContainerResource.Name, m.ContainerResource.Container
		of.Target = targetOf(&m.ContainerResource.Target)
	case of.Type == source.Pods && m.Pods != nil:
		of.identify(autoscalingv2.MetricIdentifier(m.Pods.Metric), targetOf(&m.Pods.Target))
	case of.Type == source.Object && m.Object != nil:
		of.identify(autoscalingv2.MetricIdentifier(m.Object.Metric), targetOf(&m.Object.Target))
		of.Object = autoscalingv2.CrossVersionObjectReference(m.Object.DescribedObject)
	case of.Type == source.External && m.External != nil:
		of.identify(autoscalingv2.MetricIdentifier(m.External.Metric), targetOf(&m.External.Target))
	case of.Type == source.PodEndpoint && m.PodEndpoint != nil:
		of.readBySelf(m, targetOf(&m.PodEndpoint.Target))
	case of.Type == source.Prometheus && m.Prometheus != nil:
		of.readBySelf(m, targetOf(&m.Prometheus.Target))
	case of.Type == source.ExternalScaler && m.ExternalScaler != nil:
		var target autoscalingv2.MetricTarget
		if t := m.ExternalScaler.Target; t != nil {
			target.Type, target.Value, target.AverageValue = autoscalingv2.MetricTargetType(t.Type), t.Value, t.AverageValue
		}
		of.readBySelf(m, target)
		if of.IsOwnTarget = !m.ExternalScaler.Target.HasValue(); of.IsOwnTarget {
			of.IsTotal = target.Type == autoscalingv2.ValueMetricType
		}
	default:
		of.HasSource = false
	}
	return of
}

// identify sets what is the same in metrics of the metrics APIs that have names and selectors. The rules by which
// upstream chooses among a target's fields differ from type to type; only Object uses target.type.
func (m *Metric) identify(id autoscalingv2.MetricIdentifier, target autoscalingv2.MetricTarget) {
	m.Name, m.Selector, m.Target = id.Name, id.Selector, target
	switch m.Type {
	case source.Object:
		m.IsTotal = target.Type != autoscalingv2.AverageValueMetricType
	case source.External:
		m.IsTotal = target.AverageValue == nil
	}
}

// readBySelf sets what is the same in metrics that Plimsoll reads itself.
func (m *Metric) readBySelf(of *plimsollv1alpha1.MetricSpec, target autoscalingv2.MetricTarget) {
	m.IsOwn, m.Name, m.Target, m.IsTotal = true, sources.Name(of), target, target.AverageValue == nil
}

func targetOf(t *plimsollv1alpha1.MetricTarget) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{
		Type: autoscalingv2.MetricTargetType(t.Type), Value: t.Value, AverageValue: t.AverageValue,
		AverageUtilization: t.AverageUtilization,
	}
}
