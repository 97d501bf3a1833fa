package disruption

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// A new process opens the circuit in the same cases as the last one, and not for pods that were not changed.
func TestResume(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	crash := []vertical.PodContainer{{Waiting: true,
		Crashed: vertical.Termination{Failed: true, Finished: ago(time.Second)}}}
	for why, c := range map[string]struct {
		pod  vertical.Pod
		past Past
		want bool
	}{
		"an admitted one that crashes": {vertical.Pod{
			Admitted: true, Created: ago(time.Minute), Node: "a", Containers: crash,
		}, Past{}, true},
		"it was not changed": {vertical.Pod{Created: ago(time.Minute), Node: "a", Containers: crash},
			Past{}, false},
		"an old one": {vertical.Pod{
			Admitted: true, Created: ago(time.Hour), Node: "a", Containers: crash,
		}, Past{}, false},
		"an old one, and the circuit was open": {vertical.Pod{
			Admitted: true, Created: ago(time.Hour), Node: "a", Containers: crash,
		}, Past{Open: true}, true},
		"an old one that waits for a node": {vertical.Pod{Admitted: true, Created: ago(time.Hour), Pending: true},
			Past{Open: true}, true},
		"all is well, and the circuit was open": {vertical.Pod{
			Admitted: true, Created: ago(time.Hour), Node: "a", Ready: true,
		}, Past{Open: true}, false},
		"it may still start": {vertical.Pod{Admitted: true, Created: ago(time.Minute), Pending: true}, Past{}, false},
		"resized, and crashes since": {vertical.Pod{
			Resized: ago(time.Minute), Created: ago(time.Hour), Node: "a", Containers: crash,
		}, Past{}, true},
		"resized long ago": {vertical.Pod{Resized: ago(time.Hour), Created: ago(time.Hour), Node: "a", Containers: crash},
			Past{}, false},
	} {
		c.pod.UID, c.pod.Name = "pod", "pod"
		circuit := Resume(now, []vertical.Pod{c.pod}, c.past)
		if watch(&circuit, now, []vertical.Pod{c.pod}); circuit.Open() != c.want {
			t.Errorf("%s: open %t", why, circuit.Open())
		}
	}
	// The replacement of the last evicted pod starts later, and without an annotation of admission.
	c := Resume(now, nil, Past{Updating: true})
	late := vertical.Pod{UID: "late", Created: now.Add(time.Second), Pending: true}
	if watch(&c, now.Add(startTimeout+2*time.Second), []vertical.Pod{late}); !c.Open() {
		t.Error("the replacement of the last eviction is not watched")
	}
}

// With any number of restarts, no more is taken than without.
func TestEmptiedBucketGivesNoMore(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	taken := 0
	for restart := range 10 {
		b, began := NewBucket(1.0/60, 5).Empty(now), now
		for now.Before(began.Add(2 * time.Minute)) {
			_, ok, next := b.Reserve(now, now)
			if ok {
				taken++
			}
			b, now = next, now.Add(10*time.Second)
		}
		if taken > 2*(restart+1) {
			t.Fatalf("%d within %d minutes, at one a minute", taken, 2*(restart+1))
		}
	}
	if taken < 10 {
		t.Errorf("only %d", taken)
	}
}
