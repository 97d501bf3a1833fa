package updater

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// A pod whose object has just changed what new pods get is evicted once that has settled; others are not held up by it.
func TestEvictionsWaitForChangesToSettle(t *testing.T) {
	const settles = time.Second
	r := newRig(t, func(c *Config) { c.Interval = admissionSyncShare * settles }, "fresh", "old")
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
	if first, last := min(evictedAt["fresh-1-a"], evictedAt["fresh-1-b"]), max(evictedAt["old-1-a"], evictedAt["old-1-b"]); last >= first {
		t.Errorf("the old one's pods were evicted after %s, the other's after %s", last, first)
	}
}

func TestChanges(t *testing.T) {
	made := func(change func(*vpav1.VerticalPodAutoscaler)) *vpav1.VerticalPodAutoscaler {
		vpa := autoscaler("web")
		change(&vpa)
		return &vpa
	}
	same := made(func(*vpav1.VerticalPodAutoscaler) {})
	for why, tt := range map[string]struct {
		after    *vpav1.VerticalPodAutoscaler
		isChange bool
	}{
		"nothing":             {made(func(*vpav1.VerticalPodAutoscaler) {}), false},
		"a condition":         {made(func(v *vpav1.VerticalPodAutoscaler) { v.Status.Conditions = nil }), false},
		"a recommendation":    {made(func(v *vpav1.VerticalPodAutoscaler) { v.Status.Recommendation = nil }), true},
		"what its owner says": {made(func(v *vpav1.VerticalPodAutoscaler) { v.Generation++ }), true},
		"another object":      {made(func(v *vpav1.VerticalPodAutoscaler) { v.UID = "other" }), true},
		"an amount": {made(func(v *vpav1.VerticalPodAutoscaler) {
			v.Status.Recommendation.ContainerRecommendations[0].Target = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), true},
	} {
		var c recentChanges
		c.OnUpdate(same, tt.after)
		if left := c.syncDelayLeft(time.Now(), tt.after.UID, admissionSyncDelay); left > 0 != tt.isChange {
			t.Errorf("%s: %s left", why, left)
		}
	}
	var c recentChanges
	c.OnAdd(same, true)
	if left := c.syncDelayLeft(time.Now(), same.UID, admissionSyncDelay); left > 0 {
		t.Errorf("what was there before the start: %s left", left)
	}
	if c.OnAdd(same, false); c.syncDelayLeft(time.Now(), same.UID, admissionSyncDelay) <= 0 {
		t.Error("what is new is not waited for")
	}
	now := time.Now()
	if left := c.syncDelayLeft(now.Add(admissionSyncDelay), same.UID, admissionSyncDelay); left > 0 {
		t.Errorf("%s later: %s left", admissionSyncDelay, left)
	}
}

// What has settled is forgotten.
func TestChangesAreForgotten(t *testing.T) {
	var c recentChanges
	now := time.Now()
	for i := range 100 * minSweep {
		now = now.Add(admissionSyncDelay / minSweep)
		c.note(now, types.UID(fmt.Sprint(i)))
		if len(c.at) > 3*minSweep {
			t.Fatalf("%d are kept of %d that change within the time of settling", len(c.at), minSweep)
		}
	}
}
