package admission

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// The updater and the admission controller have a watch each. If the updater evicts a pod as soon as it sees a change,
// and the admission controller sees the change a moment later, the new pod gets the old recommendation, and is evicted
// again.
const (
	// syncDelay is the longest delay of the admission controller's watch.
	syncDelay = 2 * time.Second
	// syncShare is the divisor of the interval that gives the longest wait, so that a pass has time to act.
	syncShare = 5
)

// Changes has the times of recent changes to objects that affect new pods.
type Changes struct {
	mu sync.Mutex
	at map[types.UID]time.Time // guarded by mu
	// sweepAt is the number of entries from which note removes those older than syncDelay.
	sweepAt int // guarded by mu
}

// minSweep is the smallest number of entries worth a search for old ones.
const minSweep = 64

var _ cache.ResourceEventHandler = (*Changes)(nil)

// OnAdd implements cache.ResourceEventHandler. Objects of the first list have not changed.
func (c *Changes) OnAdd(object any, isInInitialList bool) {
	if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok && !isInInitialList {
		c.note(time.Now(), vpa.UID)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (c *Changes) OnUpdate(before, after any) {
	old, ok := before.(*vpav1.VerticalPodAutoscaler)
	vpa, alsoOK := after.(*vpav1.VerticalPodAutoscaler)
	if ok && alsoOK && (old.UID != vpa.UID || old.Generation != vpa.Generation ||
		!equality.Semantic.DeepEqual(old.Status.Recommendation, vpa.Status.Recommendation)) {
		c.note(time.Now(), vpa.UID)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (*Changes) OnDelete(any) {}

// note records a change, and sometimes removes those older than syncDelay.
func (c *Changes) note(now time.Time, object types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[types.UID]time.Time{}
	}
	c.at[object] = now
	if len(c.at) <= max(c.sweepAt, minSweep) {
		return
	}
	for uid, at := range c.at {
		if now.Sub(at) >= syncDelay {
			delete(c.at, uid)
		}
	}
	c.sweepAt = 2 * len(c.at)
}

// left returns the time that the admission controller may still need to see a change.
func (c *Changes) left(now time.Time, object types.UID, delay time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[object]
	if !ok {
		return 0
	}
	return delay - now.Sub(at)
}

// Await waits, before a pod is evicted, until the admission controller has the latest recommendation for the new pod;
// false if ctx ends first. interval is the time between passes.
func (c *Changes) Await(ctx context.Context, object types.UID, interval time.Duration) bool {
	wait := c.left(time.Now(), object, min(syncDelay, interval/syncShare))
	return wait <= 0 || timing.Pause(ctx, wait) == nil
}
