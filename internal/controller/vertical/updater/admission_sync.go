package updater

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// What an object says is known to this process and to the admission controller from
// a watch each. A pod that is evicted as soon as this one is told comes back with what
// was recommended before, if the other is told a moment later; and is evicted again.
const (
	// admissionSyncDelay is how long the other may take.
	admissionSyncDelay = 2 * time.Second
	// admissionSyncShare is the part of an interval that is waited for at most: a pass must
	// have time to act.
	admissionSyncShare = 5
)

// recentChanges are when objects changed what new pods get, as far as that is not long ago.
type recentChanges struct {
	mu sync.Mutex
	at map[types.UID]time.Time // guarded by mu
	// sweepAt is how many there may be before those that have settled are looked for.
	sweepAt int // guarded by mu
}

// minSweep are not worth looking through.
const minSweep = 64

var _ cache.ResourceEventHandler = (*recentChanges)(nil)

// OnAdd implements cache.ResourceEventHandler. What is in the first list is old.
func (c *recentChanges) OnAdd(object any, isInInitialList bool) {
	if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok && !isInInitialList {
		c.note(time.Now(), vpa.UID)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (c *recentChanges) OnUpdate(before, after any) {
	old, ok := before.(*vpav1.VerticalPodAutoscaler)
	vpa, alsoOK := after.(*vpav1.VerticalPodAutoscaler)
	if ok && alsoOK && (old.UID != vpa.UID || old.Generation != vpa.Generation ||
		!equality.Semantic.DeepEqual(old.Status.Recommendation, vpa.Status.Recommendation)) {
		c.note(time.Now(), vpa.UID)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (*recentChanges) OnDelete(any) {}

// note forgets what has settled now and then.
func (c *recentChanges) note(now time.Time, object types.UID) {
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
		if now.Sub(at) >= admissionSyncDelay {
			delete(c.at, uid)
		}
	}
	c.sweepAt = 2 * len(c.at)
}

// syncDelayLeft is how long a change still has to settle.
func (c *recentChanges) syncDelayLeft(now time.Time, object types.UID, settles time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, isKnown := c.at[object]
	if !isKnown {
		return 0
	}
	return settles - now.Sub(at)
}

// awaitAdmissionSync waits, before a pod is evicted, until the admission controller knows as well
// what its successor is to get; false if that is not within the pass.
func (c *Controller) awaitAdmissionSync(ctx context.Context, object types.UID, kind update.Kind) bool {
	if kind != update.Evict {
		return true
	}
	return pause(ctx, c.changes.syncDelayLeft(time.Now(), object, min(admissionSyncDelay, c.cfg.Interval/admissionSyncShare)))
}

// pause is false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
