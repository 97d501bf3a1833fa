package horizontal

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// ForecastAnnotation on an HPA is the mode of its forecast, in place of the controller's flag. A WorkloadAutoscaler has
// spec.forecast.
const ForecastAnnotation = "plimsoll.dev/forecast"

var forecastModes = []plimsollv1alpha1.ForecastMode{
	plimsollv1alpha1.ForecastOff, plimsollv1alpha1.ForecastPreview, plimsollv1alpha1.ForecastActive,
}

// ParseForecastMode reads a mode.
func ParseForecastMode(text string) (forecast.Mode, error) {
	for _, mode := range []forecast.Mode{forecast.Off, forecast.Preview, forecast.Active} {
		if text == mode.String() {
			return mode, nil
		}
	}
	return forecast.Off, fmt.Errorf("%q is not Off, Preview or Active", text)
}

// AsksForForecast reports whether the object itself sets the mode of its forecast.
func (a Autoscaler) AsksForForecast() bool {
	if a.IsWorkload() {
		return a.Workload.Spec.Forecast != nil
	}
	_, isAnnotated := a.Annotations[ForecastAnnotation]
	return isAnnotated
}

// setForecast sets the forecast by the object and the flags. With all divergences switched off there is none, as
// upstream.
func setForecast(p *horizontal.Policy, a Autoscaler, o Options) field.ErrorList {
	p.Forecast = forecast.Settings{
		Mode: o.Forecast, WasteLimitPercent: forecast.DefaultWasteLimitPercent, Price: forecast.DefaultPrice,
	}
	if p.Forecast.Down = (&behavior.Rules{Stabilization: p.DownscaleStabilization}); p.Behavior != nil {
		p.Forecast.Down = p.Behavior.Rules(false)
	}
	var errs field.ErrorList
	text, isAnnotated := a.Annotations[ForecastAnnotation]
	switch {
	case a.IsWorkload():
		errs = setSpecForecast(&p.Forecast, a.Workload.Spec.Forecast)
	case isAnnotated:
		mode, err := ParseForecastMode(text)
		if err != nil {
			// The invalid value may have been meant to switch the forecast off.
			p.Forecast.Mode = min(p.Forecast.Mode, forecast.Preview)
			p.ForecastProblem = fmt.Sprintf("the annotation %s is ignored, and the forecast does not act: %v",
				ForecastAnnotation, err)
			break
		}
		p.Forecast.Mode = mode
	}
	if o.Divergences == divergence.None {
		p.Forecast.Mode = forecast.Off
	}
	return errs
}

// identity identifies the load: by the target, and the metrics without their targets' values.
func identity(p *horizontal.Policy, a Autoscaler) uint64 {
	target := a.Target()
	parts := []string{target.APIVersion, target.Kind, target.Name}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		parts = append(parts, string(m.Type), m.Name, m.Container, m.Object.Kind, m.Object.Name, m.SelectorText,
			m.Identity, string(m.Target.Type))
	}
	return forecast.Identity(parts)
}

func setSpecForecast(s *forecast.Settings, f *plimsollv1alpha1.Forecast) field.ErrorList {
	if f == nil {
		return nil
	}
	if s.Mode = forecast.Preview; f.Mode != "" {
		mode, err := ParseForecastMode(string(f.Mode))
		if err != nil {
			s.Mode = forecast.Off
			return field.ErrorList{field.NotSupported(field.NewPath("spec", "forecast", "mode"), f.Mode, forecastModes)}
		}
		s.Mode = mode
	}
	s.WasteLimitPercent = float64(ptr.Deref(f.WasteLimitPercent, forecast.DefaultWasteLimitPercent))
	s.Price = float64(ptr.Deref(f.ShortageCostFactor, forecast.DefaultPrice))
	return nil
}
