package sources

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Of returns the spec of the metric, and sets the fields that only metrics have that Plimsoll reads itself: the
// identity of the measured value, and the selector. For another metric, and for an invalid one, the spec is empty. The
// path is the metric's. As with an HPA, a missing source and an invalid selector are errors of the metric alone.
func Of(m *plimsollv1alpha1.MetricSpec, set *source.Spec, path *field.Path) (Spec, field.ErrorList) {
	var spec Spec
	var err error
	switch {
	case m.Type == plimsollv1alpha1.PodEndpointMetricSourceType && m.PodEndpoint != nil:
		path = path.Child("podEndpoint")
		var p PodEndpoint
		if p, err = PodEndpointOf(m.PodEndpoint); err == nil {
			spec.PodEndpoint = &p
		}
		if errors.Is(err, errSelector) {
			set.SelectorError, err = path.String()+"."+err.Error(), nil
		}
		set.SelectorText, set.Identity, set.IsRate = p.Selector.String(), p.identity(), p.IsRate
		set.OtherPods = p.Pods.String()
	case m.Type == plimsollv1alpha1.PrometheusMetricSourceType && m.Prometheus != nil:
		path = path.Child("prometheus")
		var p Prometheus
		if p, err = PrometheusOf(m.Prometheus); err == nil {
			spec.Prometheus = &p
		}
		set.Identity = p.identity()
	case m.Type == plimsollv1alpha1.ExternalScalerMetricSourceType && m.ExternalScaler != nil:
		path = path.Child("externalScaler")
		var e ExternalScaler
		if e, err = ExternalScalerOf(m.ExternalScaler); err == nil {
			spec.ExternalScaler = &e
		}
		set.Identity = e.identity()
	case m.Type == plimsollv1alpha1.ScalerMetricSourceType && m.Scaler != nil:
		path = path.Child("scaler")
		var e ExternalScaler
		if e, err = ScalerOf(m.Name, m.Scaler); err == nil {
			spec.ExternalScaler = &e
		}
		set.Identity = e.identity()
	}
	if err != nil {
		return Spec{}, field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	return spec, nil
}
