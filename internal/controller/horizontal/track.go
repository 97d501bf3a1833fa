package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// track is what the controller remembers of one object. The worker that has the
// object owns it, apart from the fields that say otherwise.
type track struct {
	uid   types.UID
	state horizontal.State
	// written is the resource version of the last status write.
	written string
	// moved counts decisions in a row that somebody else's scaling overtook; overtaken is
	// when the object was last decided in full at once because of such a change.
	moved     int
	overtaken time.Time
	writing   writing
	scale     keptScale
	// waits says that a decision waits for the cache to show the last write, owes that
	// it is one in full. They are guarded by Controller.mu, as is stale.
	waits, owes bool
	stale       staleness
	contest     takeover.Contest
	comparison  takeover.Comparison
	reported    reported
	cached      cachedAnswers
	derived     derived
	// fallback is what was last missing for resource metrics without asking.
	fallback fallbackReason
	// unreadable is how many pods last counted as missing because their nodes cannot be
	// read.
	unreadable int
	// lastComplete is when all that a decision needs was last there, or when the object was
	// first seen.
	lastComplete time.Time

	// The following are guarded by Controller.mu too: when the last decision began
	// and when metrics.k8s.io was last asked; whether pods of the target have changed since
	// its scale was read; the round of scrapes; the count that was
	// last written, if nobody has set another since; what the object scales.
	begun, asked time.Time
	podsChanged  bool
	round        trigger.Round
	wrote        *int32
	scaleTarget  targets.ID
}

// handler feeds the schedule from the informer.
func (c *Controller) handler() cache.ResourceEventHandler {
	started := time.Now()
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				c.number(+1)
				c.added(hpa)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := before.(*autoscalingv2.HorizontalPodAutoscaler)
			hpa, alsoOK := after.(*autoscalingv2.HorizontalPodAutoscaler)
			if ok && alsoOK {
				c.updated(old, hpa, time.Since(started))
			}
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				c.number(-1)
				c.deleted(hpa)
			}
		},
	}
}

// number keeps the number of objects that there are; what is remembered of a
// deleted one may outlive it.
func (c *Controller) number(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present += change
	c.series.Objects.Set(float64(c.present))
	c.numbers.SetLimit(paceOf(c.present, c.config.StatusInterval))
}

func (c *Controller) added(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	c.mu.Lock()
	t := c.trackOf(nameOf(hpa))
	c.noteTarget(nameOf(hpa), hpa)
	c.mu.Unlock()
	c.contests.Added(&t.contest, hpa)
	c.queue.AddFull(nameOf(hpa), time.Now())
}

func (c *Controller) updated(old, hpa *autoscalingv2.HorizontalPodAutoscaler, running time.Duration) {
	if old.UID != hpa.UID {
		// The deletion went by unseen.
		c.added(hpa)
		return
	}
	c.mu.Lock()
	t := c.trackOf(nameOf(hpa))
	c.mu.Unlock()
	c.contests.Updated(&t.contest, hpa, running)
	if c.config.Shadow && !equality.Semantic.DeepEqual(&old.Status, &hpa.Status) {
		t.comparison.StatusWritten()
		c.queue.AddFull(nameOf(hpa), time.Now())
		return
	}
	if specChanged(old, hpa) {
		c.mu.Lock()
		c.noteTarget(nameOf(hpa), hpa)
		c.mu.Unlock()
		c.queue.AddFull(nameOf(hpa), time.Now())
		return
	}
	c.seen(t, nameOf(hpa))
}

// seen lets a decision be made that waits to see its own write.
func (c *Controller) seen(t *track, object types.NamespacedName) {
	c.mu.Lock()
	waits, owes := t.waits, t.owes
	c.mu.Unlock()
	switch {
	case owes:
		c.queue.AddFull(object, time.Now())
	case waits:
		c.queue.AddEarly(object, time.Now(), false)
	}
}

// deleted drops what is known of the object. With history by name, as upstream,
// it is kept until the object would have been decided next, and a new object of
// the same name inherits it.
func (c *Controller) deleted(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	c.pods.Delete(nameOf(hpa))
	c.dropSeries(nameOf(hpa))
	c.mu.Lock()
	c.noteTarget(nameOf(hpa), nil)
	c.mu.Unlock()
	if c.config.Options.Divergences.Has(divergence.HistoryByUID) {
		c.queue.AddFull(nameOf(hpa), time.Now())
	}
}

// drop forgets an object that is no more. A worker has it.
func (c *Controller) drop(object types.NamespacedName) {
	isBack := !c.queue.Forget(object)
	c.pods.Delete(object)
	// A worker may have had the object while it was deleted.
	c.dropSeries(object)
	c.series.Startup.Forget(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.trackOf(object)
	c.contests.Forget(&t.contest)
	c.setFallback(t, fallbackUnknown)
	t.cached.end()
	c.counts(t, 0)
	c.endStaleness(t)
	delete(c.records, object)
	if isBack {
		c.trackOf(object).scaleTarget = t.scaleTarget
	}
}

func (c *Controller) dropSeries(object types.NamespacedName) {
	if c.config.Options.Divergences.Has(divergence.DropSeries) {
		c.series.Forget(object)
	}
}

// take is the object's track for a worker, with the history of another object
// of the same name left behind.
func (c *Controller) take(hpa *autoscalingv2.HorizontalPodAutoscaler) *track {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.trackOf(nameOf(hpa))
	t.begun = time.Now()
	t.round.Decided()
	if t.uid != hpa.UID {
		if t.uid == "" || c.config.Options.Divergences.Has(divergence.HistoryByUID) {
			t.state = observehorizontal.FirstState(hpa)
		}
		t.cached.end()
		t.comparison.Reset()
		t.uid, t.written, t.moved, t.reported, t.cached, t.derived = hpa.UID, "", 0, c.firstReported(hpa, t.begun), cachedAnswers{}, derived{}
		c.series.Startup.Forget(nameOf(hpa))
		t.lastComplete, t.overtaken, t.writing, t.scale = t.begun, time.Time{}, writing{}, keptScale{}
	}
	return t
}

// trackOf needs the lock.
func (c *Controller) trackOf(object types.NamespacedName) *track {
	t, known := c.records[object]
	if !known {
		t = &track{}
		c.records[object] = t
	}
	return t
}

// specChanged reports whether the object is to be decided at once. API servers
// before 1.37 do not count generations.
func specChanged(old, hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	if old.Generation != hpa.Generation {
		return true
	}
	return old != hpa && hpa.Generation == 0 && !equality.Semantic.DeepEqual(&old.Spec, &hpa.Spec)
}

func nameOf(hpa *autoscalingv2.HorizontalPodAutoscaler) types.NamespacedName {
	return types.NamespacedName{Namespace: hpa.Namespace, Name: hpa.Name}
}
