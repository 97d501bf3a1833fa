package recommend

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// TestFindings: a finding is a condition while it holds, an event once, and a reason to write the status. A finding
// that was not checked stays the same.
func TestFindings(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.uses(100, 1<<28)
	w.lives(time.Hour)
	find := func(message string) {
		w.seen.Findings = []status.Finding{{Kind: status.TargetShared, Message: message}, {Kind: status.ConfigInvalid}}
	}
	kind := status.TargetShared.String()
	for _, step := range []struct {
		why       string
		find      func()
		condition string
		write     status.WriteReason
		events    int
	}{
		{"it begins", func() { find("two have it") }, "True SeveralAutoscalers two have it", status.ConditionChanged, 1},
		{"it goes on", func() { find("two have it") }, "True SeveralAutoscalers two have it", status.NotWritten, 0},
		{"it changes", func() { find("three have it") }, "True SeveralAutoscalers three have it", status.ConditionChanged, 0},
		{"not checked", func() { w.seen.Findings = nil }, "True SeveralAutoscalers three have it", status.NotWritten, 0},
		{"it ends", func() { find("") }, "", status.ConditionChanged, 0},
	} {
		step.find()
		w.pass()
		if got := w.condition(kind); got != step.condition {
			t.Errorf("%s: condition %q, want %q", step.why, got, step.condition)
		}
		if w.decision.Write != step.write || len(w.decision.Events) != step.events {
			t.Errorf("%s: written because %q, events %+v; want %q, %d", step.why, w.decision.Write, w.decision.Events,
				step.write, step.events)
		}
	}
}
