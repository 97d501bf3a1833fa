package horizontal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// annotated is an HPA with a mode in its annotation.
func annotated(mode string) Autoscaler {
	return HPA(&autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ForecastAnnotation: mode}},
	})
}

// specified is a WorkloadAutoscaler with a forecast.
func specified(f *plimsollv1alpha1.Forecast) Autoscaler {
	return WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ForecastAnnotation: "Active"}},
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			Forecast: f, Metrics: []plimsollv1alpha1.MetricSpec{{Name: "cpu", Type: plimsollv1alpha1.ResourceMetricSourceType}},
		},
	})
}

func TestForecast(t *testing.T) {
	settings := func(mode forecast.Mode) forecast.Settings {
		return forecast.Settings{
			Mode: mode, WasteLimitPercent: forecast.DefaultWasteLimitPercent, Price: forecast.DefaultPrice,
		}
	}
	limit, price := int32(0), int32(1000)
	off := DefaultOptions()
	off.Forecast = forecast.Off
	upstream := DefaultOptions()
	upstream.Divergences = divergence.None
	for name, c := range map[string]struct {
		object  Autoscaler
		options Options
		want    forecast.Settings
		// problem is the message for the object's owner.
		problem string
	}{
		"an HPA that says nothing":     {HPA(&autoscalingv2.HorizontalPodAutoscaler{}), DefaultOptions(), settings(forecast.Preview), ""},
		"the flag":                     {HPA(&autoscalingv2.HorizontalPodAutoscaler{}), off, settings(forecast.Off), ""},
		"an annotation":                {annotated("Active"), off, settings(forecast.Active), ""},
		"one that switches it off":     {annotated("Off"), DefaultOptions(), settings(forecast.Off), ""},
		"a mode in lower case":         {annotated("active"), DefaultOptions(), settings(forecast.Preview), `plimsoll.dev/forecast is ignored, and the forecast does not act: "active" is not`},
		"an empty annotation":          {annotated(""), off, settings(forecast.Off), `"" is not Off, Preview or Active`},
		"as upstream":                  {annotated("Active"), upstream, settings(forecast.Off), ""},
		"an object that says nothing":  {specified(nil), DefaultOptions(), settings(forecast.Preview), ""},
		"an object's own":              {specified(&plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastActive, WasteLimitPercent: &limit, ShortageCostFactor: &price}), off, forecast.Settings{Mode: forecast.Active, Price: 1000}, ""},
		"an object's own, left empty":  {specified(&plimsollv1alpha1.Forecast{}), off, settings(forecast.Preview), ""},
		"an object's own, unknown":     {specified(&plimsollv1alpha1.Forecast{Mode: "On"}), DefaultOptions(), settings(forecast.Off), `spec.forecast.mode: Unsupported value: "On"`},
		"an object's own, as upstream": {specified(&plimsollv1alpha1.Forecast{Mode: plimsollv1alpha1.ForecastActive}), upstream, settings(forecast.Off), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, refusal := PolicyOf(c.object, c.options)
			if p.Forecast.Down == nil || p.Forecast.Down.Stabilization != c.options.DownscaleStabilization {
				t.Errorf("the playback scales down by %+v", p.Forecast.Down)
			}
			p.Forecast.Identity, p.Forecast.Down = 0, nil // TestForecastIdentity
			if diff := cmp.Diff(c.want, p.Forecast); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			problem := p.ForecastProblem + refusal.Message
			if (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
				t.Errorf("%q, want %q", problem, c.problem)
			}
		})
	}
}

// The forecast's state belongs to one target and its metrics, whatever the metrics' targets are.
func TestForecastIdentity(t *testing.T) {
	of := func(target, metric string, percent int32) uint64 {
		p, _, _ := PolicyOf(HPA(&autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: target},
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceName(metric), Target: autoscalingv2.MetricTarget{
						Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent,
					},
				},
			}},
		}}), DefaultOptions())
		return p.Forecast.Identity
	}
	if of("web", "cpu", 50) == 0 || of("web", "cpu", 50) != of("web", "cpu", 60) {
		t.Error("another target value makes it the load of something else")
	}
	if of("web", "cpu", 50) == of("web", "memory", 50) || of("web", "cpu", 50) == of("other", "cpu", 50) {
		t.Error("another metric or target has the same identity")
	}
}

// The defaults of the API are those of the forecast.
func TestForecastDefaults(t *testing.T) {
	spec := plimsollv1alpha1.WorkloadAutoscalerSpec{Forecast: &plimsollv1alpha1.Forecast{}}
	before, _, _ := PolicyOf(specified(spec.Forecast), DefaultOptions())
	plimsollv1alpha1.SetDefaults(&spec)
	after, _, _ := PolicyOf(specified(spec.Forecast), DefaultOptions())
	before.Forecast.Down, after.Forecast.Down = nil, nil
	if before.Forecast != after.Forecast {
		t.Errorf("%+v, with the API's defaults %+v", before.Forecast, after.Forecast)
	}
}

// A change of the annotation is one of the policy.
func TestForecastAnnotationIsPartOfTheSpec(t *testing.T) {
	if IsSameSpec(annotated("Off"), annotated("Active")) || !IsSameSpec(annotated("Off"), annotated("Off")) {
		t.Error("the annotation does not count, or counts as changed where it is not")
	}
}
