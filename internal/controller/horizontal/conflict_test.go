package horizontal_test

import (
	"slices"
	"testing"
	"time"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestConflictIsShownAsLongAsItLasts: the horizontal object shows the conflict with a vertical one in its condition,
// once as an event, and its end.
func TestConflictIsShownAsLongAsItLasts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		words := ""
		w.Start(func(cfg *controllerhorizontal.Config) {
			cfg.Conflict = func(observehorizontal.Autoscaler) (said string) {
				w.Set(func() { said = words })
				return said
			}
		})
		if got := w.Condition("web", conflict.Condition); got != "none" {
			t.Errorf("without a conflict the condition is %q, want none", got)
		}
		w.Set(func() { words = "the VerticalPodAutoscaler web is in the way" })
		w.Pass(3 * horizontaltest.Period)
		if got := w.Condition("web", conflict.Condition); got != "True "+conflict.ReasonUtilization {
			t.Errorf("with a conflict the condition is %q", got)
		}
		events := slices.DeleteFunc(slices.Clone(w.Events),
			func(e string) bool { return e != "web Warning "+conflict.ReasonUtilization+": "+words })
		if len(events) != 1 {
			t.Errorf("%d events in three decisions, want one; events: %q", len(events), w.Events)
		}
		w.Set(func() { words = "" })
		w.Pass(horizontaltest.Period + time.Second)
		if got := w.Condition("web", conflict.Condition); got != "False "+conflict.ReasonNone {
			t.Errorf("after it the condition is %q", got)
		}
	})
}
