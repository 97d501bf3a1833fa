package report

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Each reason that can hold a pod back is told in words; the ones that speak for a change, and mere advice, are not.
func TestEachReasonHasASentence(t *testing.T) {
	silent := map[reason.Reason]bool{
		reason.OutsideRange: true, reason.QuickOOM: true, reason.LongLived: true, reason.BoostExpired: true, reason.ResizeFailed: true,
		reason.InitContainer: true, reason.FixedHeap: true,
	}
	for _, r := range reason.All() {
		if (Sentence(r) == "") != silent[r] {
			t.Errorf("%s is told as %q", r, Sentence(r))
		}
	}
}

// What stops everything is said first, then what holds back most.
func TestOrderOfReasons(t *testing.T) {
	got := sorted(map[reason.Reason]int{reason.MinReplicas: 1, reason.Failed: 3, reason.CircuitOpen: 1, reason.BackingOff: 3})
	want := []reason.Reason{reason.CircuitOpen, reason.BackingOff, reason.Failed, reason.MinReplicas}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
