package updater

import (
	"slices"
	"testing"
	"time"
)

// If an object has just changed the resources of new pods, the eviction of its pod waits until admission has the
// change; others are not delayed.
func TestEvictionsWaitForChangesToSettle(t *testing.T) {
	const settles = time.Second
	r := newRig(t, func(c *Config) { c.Interval = 5 * settles }, "fresh", "old")
	before, after := autoscaler("fresh"), autoscaler("fresh")
	before.Status.Recommendation = nil
	began := time.Now()
	r.changes.OnUpdate(&before, &after)
	evictedAt := map[string]time.Duration{}
	r.refuse = func(pod string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		evictedAt[pod] = time.Since(began)
		return nil
	}
	r.passOnce()
	if first := min(evictedAt["fresh-1-a"], evictedAt["fresh-1-b"]); first < settles {
		t.Errorf("evicted %s after the change, want at least %s", first, settles)
	}
	if slices.Sort(r.evicted); len(r.evicted) != 4 {
		t.Errorf("evicted: %v", r.evicted)
	}
	if first, last := min(evictedAt["fresh-1-a"], evictedAt["fresh-1-b"]),
		max(evictedAt["old-1-a"], evictedAt["old-1-b"]); last >= first {
		t.Errorf("the old one's pods were evicted after %s, the other's after %s", last, first)
	}
}
