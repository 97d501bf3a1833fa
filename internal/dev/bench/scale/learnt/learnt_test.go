package learnt

import (
	"testing"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// TestEncoded: what objects begin with can be restored, reaches as far back as is kept, and fits into a checkpoint.
func TestEncoded(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	history, forecasts, err := encoded(now)
	if err != nil {
		t.Fatal(err)
	}
	var h loadhistory.History
	if err := h.UnmarshalBinary(history); err != nil {
		t.Fatal(err)
	}
	first, found := h.First()
	if !found || now.Sub(first) < 12*24*time.Hour || len(history) < plimsollv1alpha1.MaxHistoryBytes*3/4 ||
		len(history) > plimsollv1alpha1.MaxHistoryBytes {
		t.Errorf("%d bytes, from %v on", len(history), first)
	}
	state := forecast.New()
	if err := state.UnmarshalBinary(forecasts); err != nil {
		t.Fatal(err)
	}
	settings := forecast.Settings{Mode: forecast.Preview, WasteLimitPercent: 3, Price: 10, Identity: 5}
	r := state.Observe(&settings, &forecast.Input{Now: now, Load: forecast.Load{Pods: 10, PerPodMilli: 50, IsKnown: true}})
	if r.Reason <= forecast.ReasonLearning || len(forecasts) > plimsollv1alpha1.MaxForecastBytes {
		t.Errorf("%d bytes: %s", len(forecasts), r.Reason)
	}
}
