package update_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Pods that start for other reasons do not end a pause while admission does not change them either.
func TestPodsOfOthersEndNoPause(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = unseen
	for minute := range 24 * 60 {
		f.pass()
		if minute%7 == 3 {
			f.pods = append(f.pods[1:], f.pod(f.now.Add(-time.Second)))
		}
		if at := f.state.Circuit.ConfirmedAt; !at.IsZero() {
			t.Fatalf("after %d minutes a pod that admission did not see counts as one that came up as it should", minute)
		}
	}
	if f.evicted > 6 {
		t.Errorf("%d evicted in a day", f.evicted)
	}
}

// A replacement that became ready before admission failed does not confirm later ones, for however long it runs.
func TestConfirmationIsAsOldAsThePod(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = admitted
	f.pass()
	f.pass()
	f.policy.Mode = vertical.ModeInitial
	first := f.state.Circuit.ConfirmedAt
	if want := epoch.Add(2 * time.Second); !first.Equal(want) {
		t.Fatalf("confirmed at %s, created at %s", first, want)
	}
	created := f.pods[len(f.pods)-1].Created
	for range 8 {
		if f.pass(); f.state.Circuit.ConfirmedAt.After(created) {
			t.Fatalf("at %s the last confirmation is of %s, and the youngest pod of %s", f.now, f.state.Circuit.ConfirmedAt,
				created)
		}
	}
}
