package workloadstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func decided(mode forecast.Mode, r forecast.Result) *Decided {
	return &Decided{
		Policy:   &horizontal.Policy{Forecast: forecast.Settings{Mode: mode}},
		Decision: &horizontal.Decision{At: noon, Forecast: r},
	}
}

// inUse is a forecast that proposes replicas.
func inUse() forecast.Result {
	return forecast.Result{
		Reason: forecast.ReasonInUse, Replicas: 7, Expected: 8.2, StartUp: 42 * time.Second,
		Day: forecast.Day{AvoidedPodMinutes: 123, WastedPodMinutes: 4},
	}
}

func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		of   *Decided
		want *plimsollv1alpha1.ForecastStatus
	}{
		"off": {decided(forecast.Off, forecast.Result{}), nil},
		"learning": {
			decided(forecast.Preview, forecast.Result{Reason: forecast.ReasonLearning, StartUp: 30 * time.Second,
				LearntFor: time.Hour, Needed: 30 * time.Hour}),
			&plimsollv1alpha1.ForecastStatus{Mode: "Preview", Reason: "Learning", StartUpSeconds: ptr.To[int32](30),
				Message:       "it has seen 1 of the 30 hours of load that it needs",
				LearningUntil: ptr.To(metav1.NewTime(noon.Add(30 * time.Hour)))},
		},
		"in use": {
			decided(forecast.Active, inUse()),
			&plimsollv1alpha1.ForecastStatus{Mode: "Active", Reason: "InUse", Replicas: ptr.To[int32](7),
				Message:      "played back, it avoids 120 pod-minutes of lacking capacity a day and wastes 4",
				ExpectedPods: ptr.To[int32](9), StartUpSeconds: ptr.To[int32](42),
				AvoidedPodMinutesPerDay: ptr.To[int32](120), WastedPodMinutesPerDay: ptr.To[int32](4)},
		},
	} {
		got := c.of.forecast()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.of.forecastMoved(got) {
			t.Errorf("%s: what is shown has moved", name)
		}
	}
}

// TestForecastMoves: changes that people wait for are written; the expected load, which changes each minute, is not.
func TestForecastMoves(t *testing.T) {
	shown := decided(forecast.Active, inUse()).forecast()
	for name, c := range map[string]struct {
		change func(w *Decided)
		want   bool
	}{
		"the expected load":  {func(w *Decided) { w.Decision.Forecast.Expected = 12 }, false},
		"a pod-minute":       {func(w *Decided) { w.Decision.Forecast.Day.AvoidedPodMinutes = 122 }, false},
		"ten pod-minutes":    {func(w *Decided) { w.Decision.Forecast.Day.AvoidedPodMinutes = 133 }, true},
		"what is wasted":     {func(w *Decided) { w.Decision.Forecast.Day.WastedPodMinutes = 9 }, true},
		"the proposal":       {func(w *Decided) { w.Decision.Forecast.Replicas = 8 }, true},
		"the reason":         {func(w *Decided) { w.Decision.Forecast.Reason = forecast.ReasonLoadUnknown }, true},
		"the mode":           {func(w *Decided) { w.Policy.Forecast.Mode = forecast.Preview }, true},
		"the start-up":       {func(w *Decided) { w.Decision.Forecast.StartUp = time.Minute }, true},
		"that there is none": {func(w *Decided) { w.Decision.Forecast = forecast.Result{} }, true},
	} {
		w := decided(forecast.Active, inUse())
		c.change(w)
		if got := w.forecastMoved(shown); got != c.want {
			t.Errorf("%s: moved %t", name, got)
		}
	}
	if w := decided(forecast.Active, inUse()); !w.forecastMoved(nil) {
		t.Error("a forecast that is not shown has not moved")
	}
}
