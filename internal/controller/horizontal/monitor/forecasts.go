package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// forecastSeries are sums over all objects; the status of each object has its own forecast.
type forecastSeries struct{ objects, raised, avoided, wasted *prometheus.Desc }

func newForecastSeries() forecastSeries {
	return forecastSeries{
		objects: prometheus.NewDesc("plimsoll_forecast_objects",
			"Objects with a forecast, by the reason why it proposes replicas or none.", []string{"reason"}, nil),
		raised: prometheus.NewDesc("plimsoll_forecast_raised_replicas",
			"Sum of the replicas by which forecasts raised counts at the objects' last decisions.", nil, nil),
		avoided: prometheus.NewDesc("plimsoll_forecast_avoided_pod_minutes_per_day",
			"Pod-minutes of lacking capacity that the forecasts in use avoid in a day, including previews.", nil, nil),
		wasted: prometheus.NewDesc("plimsoll_forecast_wasted_pod_minutes_per_day",
			"Pod-minutes that the forecasts in use add without need in a day, including previews.", nil, nil),
	}
}

func (s *forecastSeries) describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{s.objects, s.raised, s.avoided, s.wasted} {
		to <- desc
	}
}

// lastForecast is an object's forecast at its last decision.
type lastForecast struct {
	avoided, wasted float64
	raised          int32
	reason          forecast.Reason
}

func lastForecastOf(d *horizontal.Decision) lastForecast {
	f := lastForecast{reason: d.Forecast.Reason}
	if f.reason == forecast.ReasonInUse {
		f.avoided, f.wasted = d.Forecast.Day.AvoidedPodMinutes, d.Forecast.Day.WastedPodMinutes
	}
	if d.ForecastReplicas > 0 {
		f.raised = max(0, d.Limited.Replicas-d.Stabilized.Replicas)
	}
	return f
}

type forecastSum struct {
	objects                 [forecast.ReasonInUse + 1]int
	raised, avoided, wasted float64
}

func (s *forecastSum) add(f *lastForecast) {
	s.objects[f.reason]++
	s.raised += float64(f.raised)
	s.avoided += f.avoided
	s.wasted += f.wasted
}

// collect omits objects without a forecast.
func (s *forecastSeries) collect(sum *forecastSum, gauge func(*prometheus.Desc, float64, ...string)) {
	for reason := forecast.ReasonLearning; reason <= forecast.ReasonInUse; reason++ {
		gauge(s.objects, float64(sum.objects[reason]), reason.String())
	}
	gauge(s.raised, sum.raised)
	gauge(s.avoided, sum.avoided)
	gauge(s.wasted, sum.wasted)
}
