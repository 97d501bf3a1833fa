package horizontal_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// TestCheckpointOfAnotherVersion: if another version of the program has written a checkpoint, the readable part is
// used. The other part starts empty, and is replaced by new data. Nothing else changes.
func TestCheckpointOfAnotherVersion(t *testing.T) {
	another := func(part []byte) []byte {
		part = slices.Clone(part)
		part[0]++ // the version is the first byte of each part
		return part
	}
	cases := map[string]struct {
		change                      func(*plimsollv1alpha1.AutoscalerCheckpointSpec)
		keepsHistory, keepsForecast bool
	}{
		"another history":  {func(s *plimsollv1alpha1.AutoscalerCheckpointSpec) { s.History = another(s.History) }, false, true},
		"another forecast": {func(s *plimsollv1alpha1.AutoscalerCheckpointSpec) { s.Forecast = another(s.Forecast) }, true, false},
		"another of both": {func(s *plimsollv1alpha1.AutoscalerCheckpointSpec) {
			s.History, s.Forecast = another(s.History), another(s.Forecast)
		}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
				controller := w.learning(saved)
				w.AddHPA(w.Web("web", 3))
				w.Pass(3 * time.Hour)
				w.Stop()
				first, since := controller.Learnt("web").Clone(), controller.RecordedSince(t, "web")
				stored, err := saved.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "hpa-web"})
				if err != nil {
					t.Fatal(err)
				}
				tc.change(&stored.Spec)
				if _, err := saved.Replace(t.Context(), stored); err != nil {
					t.Fatal(err)
				}
				controller = w.learning(saved)
				replicas := w.Replicas("web")
				w.Pass(2 * time.Minute)
				if got := controller.RecordedSince(t, "web").Equal(since); got != tc.keepsHistory {
					t.Errorf("the history is kept: %t", got)
				}
				if got := controller.Learnt("web").KnowsMore(first); got != tc.keepsForecast {
					t.Errorf("the forecast is kept: %t", got)
				}
				if got := w.Metric("plimsoll_autoscaler_checkpoint_reads_total", "unreadable"); got != 1 {
					t.Errorf("%v are unreadable, want 1", got)
				}
				w.Pass(2 * time.Hour)
				if got := w.Replicas("web"); got != replicas {
					t.Errorf("%d replicas, then %d", replicas, got)
				}
				checkReplaced(t, saved, tc.keepsForecast, first)
			})
		})
	}
}

// checkReplaced reads the checkpoint saved at the end. A forecast that was kept has learnt more than the first.
func checkReplaced(t *testing.T, saved *savedCheckpoints, keepsForecast bool, first *forecast.State) {
	t.Helper()
	status := saved.of(t, "web")
	var history loadhistory.History
	if err := history.UnmarshalBinary(status.History); err != nil {
		t.Errorf("the history is not replaced: %v", err)
	}
	learnt := forecast.New()
	if err := learnt.UnmarshalBinary(status.Forecast); err != nil {
		t.Errorf("the forecast is not replaced: %v", err)
	}
	if got := learnt.KnowsMore(first); got != keepsForecast {
		t.Errorf("what is saved goes on with the first forecast: %t", got)
	}
}
