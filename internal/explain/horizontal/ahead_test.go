package horizontal

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

func TestForecastText(t *testing.T) {
	for want, c := range map[string]struct {
		mode   forecast.Mode
		result forecast.Result
	}{
		"": {forecast.Preview, forecast.Result{Reason: forecast.ReasonLearning, LearntFor: time.Minute, Needed: 30 * time.Hour}},
		"Active; it has seen 0 of the 30 hours of load that it needs": {forecast.Active,
			forecast.Result{Reason: forecast.ReasonLearning, Needed: 30 * time.Hour}},
		"Preview; off: it would have wasted 120 pod-minutes a day to avoid 2": {forecast.Preview,
			forecast.Result{Reason: forecast.ReasonNotWorthItsPrice, Day: forecast.Day{AvoidedPodMinutes: 2, WastedPodMinutes: 120}}},
		"Active; played back, it avoids 45 pod-minutes of lacking capacity a day and wastes 6; asks for 7: 0.8 × the load of " +
			"8.24 pods at the target (expected within 2 min), rounded up; pods take 42 s to be ready": {
			forecast.Active, forecast.Result{
				Reason: forecast.ReasonInUse, Replicas: 7, Scale: 0.8, Expected: 8.239, Horizon: 2 * time.Minute,
				StartUp: 42 * time.Second, Day: forecast.Day{AvoidedPodMinutes: 45, WastedPodMinutes: 6},
			}},
		"Active; played back, it avoids 45 pod-minutes of lacking capacity a day and wastes 6; asks for 5: 0.8 × the load of " +
			"8.24 pods at the target (expected within 2 min), but no more than maxReplicas, nor than the largest load of the " +
			"last eight days needs; pods take 42 s to be ready": {
			forecast.Active, forecast.Result{
				Reason: forecast.ReasonInUse, Replicas: 5, Scale: 0.8, Expected: 8.239, Horizon: 2 * time.Minute,
				StartUp: 42 * time.Second, Day: forecast.Day{AvoidedPodMinutes: 45, WastedPodMinutes: 6},
			}},
	} {
		r := &Result{Policy: horizontal.Policy{Forecast: forecast.Settings{Mode: c.mode}},
			Decision: horizontal.Decision{Forecast: c.result}}
		if got := r.forecastText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	off := &Result{}
	if off.forecastText() != "" || off.forecastTrace() != nil {
		t.Error("a forecast that is off is shown")
	}
}
