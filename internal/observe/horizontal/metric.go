package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Metric is a metric of a spec, in one form for both kinds. It shares the spec's memory.
type Metric struct {
	Type source.Type
	// HasSource is true if the spec has the source of this type. Otherwise the rest is empty.
	HasSource bool
	// Name is the resource's or the metric's, and Container that of a resource metric of one container.
	Name, Container string
	// Selector and Object are the parameters of the request to a metrics API.
	Selector *metav1.LabelSelector
	Object   autoscalingv2.CrossVersionObjectReference
	Target   autoscalingv2.MetricTarget
	// IsTotal is true if the value that is compared is not an average over pods.
	IsTotal bool
	// IsOwn is true if Plimsoll reads the metric itself. IsOwnTarget is true if its source has the target.
	IsOwn, IsOwnTarget bool
}

// identify sets the common fields of the metrics APIs' metrics with names and selectors. The rules by which upstream
// chooses among a target's fields differ from type to type; only Object uses target.type.
func (m *Metric) identify(id autoscalingv2.MetricIdentifier, target autoscalingv2.MetricTarget) {
	m.Name, m.Selector, m.Target = id.Name, id.Selector, target
	switch m.Type {
	case source.Object:
		m.IsTotal = target.Type != autoscalingv2.AverageValueMetricType
	case source.External:
		m.IsTotal = target.AverageValue == nil
	}
}
