package horizontal

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
)

// ForecastTrace is the expected load, and the value of the forecast.
type ForecastTrace struct {
	Mode    string `json:"mode"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Replicas is its proposal, whatever the mode, and Raised the count to which it raised another one.
	Replicas int32 `json:"replicas,omitempty"`
	Raised   int32 `json:"raisedToReplicas,omitempty"`
	// ExpectedPods is the highest expected load within HorizonSeconds, in pods at the target, and Scale the part of it
	// that is proposed.
	ExpectedPods   float64 `json:"expectedPods"`
	HorizonSeconds float64 `json:"horizonSeconds"`
	Scale          float64 `json:"scale,omitempty"`
	StartUpSeconds float64 `json:"startUpSeconds"`
	// LearntHours is the time for which it has observed the load, of NeededHours.
	LearntHours float64 `json:"learntHours"`
	NeededHours float64 `json:"neededHours"`
	// The following are per day, in the playback.
	LackingPodMinutes float64 `json:"lackingPodMinutesPerDay"`
	AvoidedPodMinutes float64 `json:"avoidedPodMinutesPerDay"`
	WastedPodMinutes  float64 `json:"wastedPodMinutesPerDay"`
	PodMinutes        float64 `json:"podMinutesPerDay"`
}

func (r *Result) forecastTrace() *ForecastTrace {
	f := &r.Decision.Forecast
	if f.Reason == forecast.ReasonOff {
		return nil
	}
	return &ForecastTrace{
		Mode: r.Policy.Forecast.Mode.String(), Reason: f.Reason.String(), Message: f.Text(), Replicas: f.Replicas,
		Raised: r.Decision.ForecastReplicas, ExpectedPods: f.Expected, HorizonSeconds: f.Horizon.Seconds(), Scale: f.Scale,
		StartUpSeconds: f.StartUp.Seconds(), LearntHours: f.LearntFor.Hours(), NeededHours: f.Needed.Hours(),
		LackingPodMinutes: f.Day.LackingPodMinutes, AvoidedPodMinutes: f.Day.AvoidedPodMinutes,
		WastedPodMinutes: f.Day.WastedPodMinutes, PodMinutes: f.Day.PodMinutes,
	}
}

// forecastNumber is what a forecast in mode Active asks for: in this decision, or else by the object's status.
func (r *Result) forecastNumber() string {
	f, shown := &r.Decision.Forecast, r.Step.Autoscaler().ForecastReplicas()
	switch {
	case r.Policy.Forecast.Mode != forecast.Active:
		return ""
	case f.Reason == forecast.ReasonInUse:
		return fmt.Sprintf("asks for %d: %s", f.Replicas, proposedText(f))
	case shown > 0:
		return fmt.Sprintf("asks for %d, as the object's status says; its state is not known here, or the load is not", shown)
	}
	return ""
}

// forecastText returns empty in mode Off, and in a preview that has observed less than an hour.
func (r *Result) forecastText() string {
	f := &r.Decision.Forecast
	isNew := f.Reason == forecast.ReasonLearning && f.LearntFor < time.Hour
	if f.Reason == forecast.ReasonOff || isNew && r.Policy.Forecast.Mode == forecast.Preview {
		return ""
	}
	text := r.Policy.Forecast.Mode.String() + "; " + f.Text()
	if f.Reason == forecast.ReasonInUse {
		text = fmt.Sprintf("%s; asks for %d: %s; pods take %s to be ready", text, f.Replicas, proposedText(f),
			summary.DurationText(f.StartUp))
	}
	return text
}

// proposedText is how the count of a forecast comes about: "0.7 × the load of 8.01 pods at the target (expected within
// 3 min), rounded up".
func proposedText(f *forecast.Result) string {
	text := fmt.Sprintf("%.4g × the load of %.3g pods at the target (expected within %s)", f.Scale, f.Expected,
		summary.DurationText(f.Horizon))
	if float64(f.Replicas) < f.Scale*f.Expected-1e-9 {
		return text + ", but no more than maxReplicas, nor than the largest load of the last eight days needs"
	}
	return text + ", rounded up"
}
