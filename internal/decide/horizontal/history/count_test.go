package history

import (
	"testing"
	"time"
)

// TestCount: a lower count takes effect once there are no more pods than that, a higher one at once, and another
// writer's change is seen.
func TestCount(t *testing.T) {
	start := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var c Count
	for _, step := range []struct {
		reason         string
		at             int
		replicas, pods int32
		written        int32
		changed        int
		effective      int
		isLowered      bool
	}{
		{"nothing is known of the time before", 0, 10, 10, 0, -1, -1, false},
		{"Plimsoll writes 8", 1, 10, 10, 8, 1, 1, true},
		{"all ten pods are still there", 3, 8, 10, 0, 1, 3, true},
		{"the last one too many has just begun to terminate", 4, 8, 8, 0, 1, 3, true},
		{"a rollout adds pods later on", 9, 8, 10, 0, 1, 3, true},
		{"somebody else writes 5", 20, 5, 8, 0, 20, 20, true},
		{"and the pods follow", 21, 5, 5, 0, 20, 20, true},
		{"somebody else writes 9", 30, 9, 5, 0, 30, 30, false},
		{"that waits for no pods", 31, 9, 5, 0, 30, 30, false},
	} {
		c.Observe(at(step.at), step.replicas, step.pods)
		if step.written > 0 {
			c.Change(at(step.at), step.written)
		}
		var changed, effective time.Time
		if step.changed >= 0 {
			changed, effective = at(step.changed), at(step.effective)
		}
		if !c.ChangedAt.Equal(changed) || !c.EffectiveAt.Equal(effective) || c.IsLowered != step.isLowered {
			t.Errorf("%d s: %s: %+v", step.at, step.reason, c)
		}
	}
}
