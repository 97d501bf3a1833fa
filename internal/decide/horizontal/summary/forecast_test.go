package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// TestForecastBehindAWindow: where a window keeps as many replicas as the forecast asks for, the sentence names the
// forecast, and announces no fall at the end of the window.
func TestForecastBehindAWindow(t *testing.T) {
	p := queueOf(mode.Active)
	p.Forecast.Mode = forecast.Active
	p.DownscaleStabilization = 5 * time.Minute
	for want, asks := range map[string]int32{
		"Held at 6 until 12:05:00, then 2: queue asks for 2, but 6 was asked for at 12:00:00, and scaleDown takes the " +
			"highest of the last 5 min.": 0,
		"Stays at 6: the forecast asks for 6; queue asks for 2.": 6,
	} {
		in := played(&p, []int{0, 15}, queued(6, 60), queued(6, 15))
		in.Decision.Forecast = forecast.Result{Reason: forecast.ReasonInUse, Replicas: asks}
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestPartOfTheForecast: a forecast asks for a part of the load that it expects, and for no more than it has seen; a
// count that is close to that stays.
func TestPartOfTheForecast(t *testing.T) {
	p := queueOf(mode.Active)
	p.Forecast.Mode = forecast.Active
	p.DownscaleStabilization = 5 * time.Minute
	of := func(replicas int32, scale, expected float64) Input {
		in := played(&p, []int{0, 15}, queued(6, 60), queued(6, 15))
		in.Decision.Forecast = forecast.Result{
			Reason: forecast.ReasonInUse, Replicas: replicas, Scale: scale, Expected: expected, Horizon: 3 * time.Minute,
		}
		return in
	}
	limited := of(10, 1, 14)
	limited.Decision.Current, limited.Decision.Desired = 10, 10
	kept := of(5, 0.7, 7.01)
	kept.Decision.ForecastReplicas = 6
	raised := of(8, 1, 8)
	raised.Decision.Desired, raised.Decision.ForecastReplicas = 8, 8
	checkSentences(t, map[string]Input{
		"Stays at 6: the forecast asks for 6, for 70 % of the load of 8.01 pods that it expects within 3 min; queue asks for " +
			"2.": of(6, 0.7, 8.01),
		"Stays at 6: the forecast asks for 6, for the load of 5.5 pods that it expects within 3 min; queue asks for 2.": of(
			6, 1, 5.5),
		"Stays at 6: the forecast asks for 6, for 115 % of the load of 5 pods that it expects within 3 min; queue asks for " +
			"2.": of(6, 1.15, 5),
		"Stays at 6: the forecast asks for 6, as many as the largest load of the last days needed, for the load of 7.5 pods " +
			"that it expects within 3 min; queue asks for 2.": of(6, 1, 7.5),
		"Stays at 10: the forecast asks for 10, which is maxReplicas, for the load of 14 pods that it expects within 3 min; " +
			"queue asks for 2.": limited,
		"Stays at 6: the forecast asks for 5, for 70 % of the load of 7.01 pods that it expects within 3 min, and keeps 6, " +
			"which is close to that; queue asks for 2.": kept,
		"Scales from 6 to 8: the forecast asks for 8, for the load of 8 pods that it expects within 3 min; queue asks for " +
			"2.": raised,
		"Held at 6 until 12:05:00, then 2: queue asks for 2, but 6 was asked for at 12:00:00, and scaleDown takes the " +
			"highest of the last 5 min.": of(2, 0.7, 2.1),
	})
}
