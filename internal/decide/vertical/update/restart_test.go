package update_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// A process does not save the length of the pause after fruitless evictions; the next one begins with the shortest
// pause. Each restart during a longer pause costs a workload one early eviction, unless the next restart follows within
// half an hour.
func TestRestartsInAPauseCostOneEviction(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = unseen
	for range 24 * 60 {
		f.pass()
	}
	f.change = func(o *update.Observation) { o.Past = disruption.Past{NotAdmitted: true} }
	before := f.evicted
	f.state = update.State{}
	for range 89 {
		f.pass()
	}
	if f.evicted-before != 1 {
		t.Errorf("%d evicted within an hour and a half of a restart", f.evicted-before)
	}
	for every, most := range map[int]int{10: 0, 29: 0, 35: 24*60/35 + 1} {
		before := f.evicted
		for minute := range 24 * 60 {
			if minute%every == 0 {
				f.state = update.State{}
			}
			f.pass()
		}
		if f.evicted-before > most {
			t.Errorf("a restart each %d minutes: %d evicted in a day, want at most %d", every, f.evicted-before, most)
		}
	}
}
