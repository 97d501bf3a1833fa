package report

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Each reason has a sentence.
func TestEachReasonHasASentence(t *testing.T) {
	for _, r := range reason.All() {
		if Sentence(r) == "" {
			t.Errorf("%s is told by nothing", r)
		}
	}
}

// A reason that stops everything comes first, followed by the one that blocks most.
func TestOrderOfReasons(t *testing.T) {
	got := sorted(map[reason.Reason]int{
		reason.MinReplicas: 1, reason.Failed: 3, reason.CircuitOpen: 1, reason.BackingOff: 3,
	})
	want := []reason.Reason{reason.CircuitOpen, reason.BackingOff, reason.Failed, reason.MinReplicas}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
