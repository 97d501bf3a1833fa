package world

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// rolling is a world of so many pods with a rollout after ten seconds.
func rolling(t *testing.T, replicas int32) *World {
	t.Helper()
	w, err := New(Config{
		Load: workloadmodel.Constant(10), Profile: workloadmodel.DefaultProfile(),
		Resources:  workloadmodel.Resources{CPURequestMilli: 500},
		StartAfter: time.Second, ReadyAfter: 5 * time.Second, StopAfter: time.Second, Grace: 30 * time.Second,
		Replicas: replicas, Rollouts: []time.Duration{10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestRollout: eight pods are replaced. Two more than that may be there, and two fewer ready: all that a Deployment's
// defaults permit, and no more at any second.
func TestRollout(t *testing.T) {
	w := rolling(t, 8)
	w.OnSecond(func() {
		if c := w.rollout.count(w.pods); c.present > 10 || c.ready < 6 {
			t.Errorf("%v: %d present, %d ready", w.Now(), c.present, c.ready)
		}
	})
	w.AdvanceTo(9 * time.Second)
	if c := w.rollout.count(w.pods); c != (counts{present: 8, ready: 8}) {
		t.Errorf("before: %+v", c)
	}
	// Two old ones go at once, since six remain, and four new ones come: two in their place, and two of the surge.
	w.AdvanceTo(11 * time.Second)
	if c := w.rollout.count(w.pods); c != (counts{present: 10, old: 6, ready: 6, newUnready: 4}) {
		t.Errorf("begun: %+v", c)
	}
	w.AdvanceTo(time.Minute)
	if c := w.rollout.count(w.pods); c != (counts{present: 8, ready: 8}) || w.rollout.before != 0 {
		t.Errorf("after: %+v, old are those before %d", c, w.rollout.before)
	}
	for _, p := range w.Pods() {
		if p.Number < 8 {
			t.Errorf("pod %d is still there", p.Number)
		}
	}
}

// TestScaleDuringRollout: the count that is wanted in the end is there in the end.
func TestScaleDuringRollout(t *testing.T) {
	for _, to := range []int32{1, 3, 7, 9, 20} {
		w := rolling(t, 8)
		w.AdvanceTo(12 * time.Second)
		w.Scale(to)
		w.AdvanceTo(2 * time.Minute)
		if c := w.rollout.count(w.pods); c != (counts{present: to, ready: to}) || w.rollout.before != 0 {
			t.Errorf("to %d: %+v", to, c)
		}
	}
}
