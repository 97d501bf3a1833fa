package sources

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Extend adds to the metric's spec what the core needs of a metric that Plimsoll reads itself. The
// spec of another one stays as it is. The path is the metric's. As with an HPA, a source that is
// not there (it names no target) and a selector that is invalid are errors of the metric alone.
func Extend(
	spec *source.Spec, m *plimsollv1alpha1.MetricSpec, mode arithmetic.Mode, path *field.Path,
) field.ErrorList {
	var err error
	switch {
	case m.Type == plimsollv1alpha1.PodEndpointMetricSourceType && m.PodEndpoint != nil:
		path = path.Child("podEndpoint")
		spec.Target = targetOf(&m.PodEndpoint.Target, mode)
		var p PodEndpoint
		if p, err = PodEndpointOf(m.PodEndpoint); errors.Is(err, errSelector) {
			spec.SelectorError, err = err.Error(), nil
		}
		spec.SelectorText, spec.Identity, spec.IsRate = p.Selector.String(), p.identity(), p.IsRate
	case m.Type == plimsollv1alpha1.PrometheusMetricSourceType && m.Prometheus != nil:
		path = path.Child("prometheus")
		spec.Target = targetOf(&m.Prometheus.Target, mode)
		var p Prometheus
		p, err = PrometheusOf(m.Prometheus)
		spec.Identity = p.identity()
	case m.Type == plimsollv1alpha1.ExternalScalerMetricSourceType && m.ExternalScaler != nil:
		path = path.Child("externalScaler")
		spec.Target, spec.IsOwnTarget = scalerTarget(m.ExternalScaler, mode), m.Target() == nil
		var e ExternalScaler
		e, err = ExternalScalerOf(m.ExternalScaler)
		spec.Identity = e.identity()
	default:
		return nil
	}
	spec.Name = Name(m)
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	return nil
}

func scalerTarget(m *plimsollv1alpha1.ExternalScalerMetricSource, mode arithmetic.Mode) source.Target {
	switch t := m.Target; {
	case t.HasValue():
		return targetOf(&plimsollv1alpha1.MetricTarget{Value: t.Value, AverageValue: t.AverageValue}, mode)
	case t != nil && t.Type == plimsollv1alpha1.ValueMetricType:
		return source.Target{Type: source.Value}
	default:
		return source.Target{Type: source.AverageValue}
	}
}

func targetOf(t *plimsollv1alpha1.MetricTarget, mode arithmetic.Mode) source.Target {
	switch {
	case t.AverageValue != nil:
		return source.Target{Type: source.AverageValue, Milli: observe.Milli(t.AverageValue, mode)}
	case t.Value != nil:
		return source.Target{Type: source.Value, Milli: observe.Milli(t.Value, mode)}
	default:
		return source.Target{}
	}
}
