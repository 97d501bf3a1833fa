package workloadstatus

import (
	"math"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// forecast is nil where the mode is Off.
func (w *Decided) forecast() *plimsollv1alpha1.ForecastStatus {
	r := &w.Decision.Forecast
	if r.Reason == forecast.ReasonOff {
		return nil
	}
	avoided, wasted := forecast.Rounded(r.Day.AvoidedPodMinutes), forecast.Rounded(r.Day.WastedPodMinutes)
	s := &plimsollv1alpha1.ForecastStatus{
		Mode: plimsollv1alpha1.ForecastMode(w.Policy.Forecast.Mode.String()), Reason: r.Reason.String(), Message: r.Text(),
		Replicas: known(r.Replicas), ExpectedPods: known(expectedPods(r)), StartUpSeconds: known(startUpSeconds(r)),
		LearningUntil: timeOf(r.LearningUntil(w.Decision.At)),
	}
	if r.Reason != forecast.ReasonLearning {
		s.AvoidedPodMinutesPerDay, s.WastedPodMinutesPerDay = &avoided, &wasted
	}
	return s
}

// known returns nil for 0, which stands for an unknown number.
func known(number int32) *int32 {
	if number == 0 {
		return nil
	}
	return &number
}

func expectedPods(r *forecast.Result) int32 {
	return int32(math.Ceil(max(0, min(r.Expected, math.MaxInt32))))
}

func startUpSeconds(r *forecast.Result) int32 {
	return int32(min(r.StartUp.Seconds(), math.MaxInt32))
}

// forecastMoved reports whether the status has another forecast. A change of the expected load is no reason to write:
// it changes each minute.
func (w *Decided) forecastMoved(before *plimsollv1alpha1.ForecastStatus) bool {
	r := &w.Decision.Forecast
	if before == nil || r.Reason == forecast.ReasonOff {
		return (before == nil) != (r.Reason == forecast.ReasonOff)
	}
	return before.Reason != r.Reason.String() || string(before.Mode) != w.Policy.Forecast.Mode.String() ||
		ptr.Deref(before.Replicas, 0) != r.Replicas || ptr.Deref(before.StartUpSeconds, 0) != startUpSeconds(r) ||
		r.Reason != forecast.ReasonLearning && w.dayMoved(before) || r.Reason == forecast.ReasonLearning &&
		before.Message != r.Text()
}

func (w *Decided) dayMoved(before *plimsollv1alpha1.ForecastStatus) bool {
	day := &w.Decision.Forecast.Day
	return ptr.Deref(before.AvoidedPodMinutesPerDay, 0) != forecast.Rounded(day.AvoidedPodMinutes) ||
		ptr.Deref(before.WastedPodMinutesPerDay, 0) != forecast.Rounded(day.WastedPodMinutes)
}
