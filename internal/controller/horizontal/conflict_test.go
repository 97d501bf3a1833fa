package horizontal

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestConflictIsShownAsLongAsItLasts: an owner who looks at the horizontal object
// learns there that a vertical one is in its way, once as an event; and that it is
// over.
func TestConflictIsShownAsLongAsItLasts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		words := ""
		w.start(func(cfg *Config) {
			cfg.Conflict = func(observehorizontal.Autoscaler) (said string) {
				w.set(func() { said = words })
				return said
			}
		})
		if got := w.condition("web", conflict.Condition); got != "none" {
			t.Errorf("without a conflict the condition is %q, want none", got)
		}
		w.set(func() { words = "the VerticalPodAutoscaler web is in the way" })
		w.pass(3 * period)
		if got := w.condition("web", conflict.Condition); got != "True "+conflict.ReasonUtilization {
			t.Errorf("with a conflict the condition is %q", got)
		}
		events := slices.DeleteFunc(slices.Clone(w.events),
			func(e string) bool { return e != "web Warning "+conflict.ReasonUtilization+": "+words })
		if len(events) != 1 {
			t.Errorf("%d events in three decisions, want one; events: %q", len(events), w.events)
		}
		w.set(func() { words = "" })
		w.pass(period + time.Second)
		if got := w.condition("web", conflict.Condition); got != "False "+conflict.ReasonNone {
			t.Errorf("after it the condition is %q", got)
		}
	})
}
