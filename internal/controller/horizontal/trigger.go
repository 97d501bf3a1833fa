package horizontal

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
)

// subscribers is who is told of new samples of a node; it is used again.
type subscribers struct {
	subscriptions []podindex.Subscription
	due           []dueObject
}

// dueObject is an object that is to be decided then.
type dueObject struct {
	object types.NamespacedName
	at     time.Time
}

// sampled lets the objects with pods on a node be decided on its new samples.
func (c *Controller) sampled(told podusage.Sampled) {
	if !c.config.Triggers {
		return
	}
	a, isUsed := c.subscribers.Get().(*subscribers)
	if !isUsed {
		a = &subscribers{}
	}
	a.subscriptions, a.due = c.pods.On(told.Node, a.subscriptions[:0]), a.due[:0]
	c.mu.Lock()
	for i := range a.subscriptions {
		// Looking up a track for each object on each node was a tenth of all CPU.
		if t, known := a.subscriptions[i].Follower.(*track); known {
			if due, yes := t.round.Report(told.At, told.Before, a.subscriptions[i].Nodes); yes {
				a.due = append(a.due, dueObject{a.subscriptions[i].Object, due})
			}
		}
	}
	c.mu.Unlock()
	for i := range a.due {
		c.queue.AddEarly(a.due[i].object, a.due[i].at, true)
	}
	// What lies there would keep tracks alive that are gone.
	clear(a.subscriptions)
	c.subscribers.Put(a)
}

// onChanged lets objects be decided because of what their pods or their targets
// are now.
func (c *Controller) onChanged(objects []types.NamespacedName) {
	now := time.Now()
	for _, object := range objects {
		var decided, asked time.Time
		c.mu.Lock()
		if t, known := c.records[object]; known {
			t.podsChanged = true
			decided, asked = t.begun, t.asked
		}
		c.mu.Unlock()
		due := trigger.AfterEvent(now, decided, asked)
		c.queue.AddEarly(object, due, false)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// podsChanged is what hears of pods; nil if nobody does.
func (c *Controller) podsChanged() func([]types.NamespacedName) {
	if !c.config.Triggers {
		return nil
	}
	return c.onChanged
}

// watchCounts hears of counts that others set.
func (c *Controller) watchCounts() (stop func(), err error) {
	if !c.config.Triggers {
		return func() {}, nil
	}
	return c.targets.Watch(c.onReplicasChanged)
}

// onReplicasChanged hears of a target's count. One that Plimsoll has set is no news.
func (c *Controller) onReplicasChanged(id targets.ID, replicas int32) {
	var objects []types.NamespacedName
	c.mu.Lock()
	for _, object := range c.byTarget[id] {
		if t := c.trackOf(object); t.wrote == nil || *t.wrote != replicas {
			t.wrote = nil
			objects = append(objects, object)
		}
	}
	c.mu.Unlock()
	c.onChanged(objects)
}

// writes notes the count that is about to be written.
func (c *Controller) writes(t *track, replicas *int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.wrote = replicas
}

// noteTarget notes what an object scales; nil for one that is gone. It needs the lock.
func (c *Controller) noteTarget(object types.NamespacedName, hpa *autoscalingv2.HorizontalPodAutoscaler) {
	t := c.trackOf(object)
	others := slices.DeleteFunc(c.byTarget[t.scaleTarget], func(o types.NamespacedName) bool { return o == object })
	if c.byTarget[t.scaleTarget] = others; len(others) == 0 {
		delete(c.byTarget, t.scaleTarget)
	}
	t.scaleTarget = targets.ID{}
	if hpa == nil || !c.config.Triggers {
		return
	}
	ref := hpa.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return
	}
	t.scaleTarget = targets.ID{
		Kind: schema.GroupKind{Group: version.Group, Kind: ref.Kind},
		Name: types.NamespacedName{Namespace: object.Namespace, Name: ref.Name},
	}
	c.byTarget[t.scaleTarget] = append(c.byTarget[t.scaleTarget], object)
}
