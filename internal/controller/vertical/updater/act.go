package updater

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/actions"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// The reasons of events, upstream's.
const (
	eventEvictedByVPA  = "EvictedByVPA"
	eventEvictedPod    = "EvictedPod"
	eventResized       = "InPlaceResizedByVPA"
	eventResizeSkipped = "InPlaceResizeSkipped"
)

// perform carries out one workload's decision. False means that the pass is over.
func (c *Controller) perform(ctx context.Context, t *task) (goesOn bool) {
	defer c.catch(t.Workload, &goesOn)
	if ctx.Err() != nil {
		t.decision.Defer(reason.RateLimit)
		return true // Another workload has ended the pass.
	}
	c.used(ctx, t)
	completed := t.decision.Play(&t.state, c.claims.of(t.VPA.Namespace), func(a update.Action) update.Result {
		return update.Result{Outcome: c.performOne(ctx, t, a), At: time.Now()}
	})
	if completed {
		c.recordSkipped(t)
	}
	return completed
}

// performOne does one thing to a pod, if the rate limit and the cluster's budget allow it.
func (c *Controller) performOne(ctx context.Context, t *task, a update.Action) update.Outcome {
	switch {
	case a.Kind == update.Evict && !c.changes.Await(ctx, t.VPA.UID, c.cfg.Interval), !c.limits.wait(ctx, a.Kind):
		c.metrics.limited(t, a.Kind)
		return update.Deferred
	case a.Kind == update.Evict && !c.budget.take(t.Key()):
		return update.OverClusterBudget
	}
	outcome, err := actions.Do(ctx, c.cfg.Client, c.cfg.Log.WithValues("vpa", t.Key()), a)
	if a.Kind == update.Evict && outcome != update.Done {
		c.budget.refund()
	}
	c.metrics.acted(t, a.Kind, outcome)
	c.recordEvents(t, a, outcome, err)
	return outcome
}

// recordEvents says in events and the log what was done.
func (c *Controller) recordEvents(t *task, a update.Action, outcome update.Outcome, err error) {
	log := c.cfg.Log.WithValues("vpa", t.Key(), "pod", a.Pod.Name, "action", a.Kind.String(), "reason", a.Reason.String())
	if outcome != update.Done {
		log.V(1).Info("not done", "error", fmt.Sprint(err))
		return
	}
	log.Info("done")
	pod := reference(a)
	if a.Kind == update.Evict {
		c.cfg.Events.Event(pod, corev1.EventTypeNormal, eventEvictedByVPA,
			"Pod was evicted by VPA Updater to apply resource recommendation.")
		c.cfg.Events.Event(t.VPA, corev1.EventTypeNormal, eventEvictedPod,
			"VPA Updater evicted Pod "+a.Pod.Name+" to apply resource recommendation.")
		return
	}
	c.cfg.Events.Event(pod, corev1.EventTypeNormal, eventResized, "Pod was resized in place by VPA Updater.")
}

func reference(a update.Action) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.Pod.Namespace, Name: a.Pod.Name, UID: types.UID(a.Pod.UID),
	}}
}

// recordSkipped says on pods that a resize is not tried again. Upstream says so each
// minute; here the events' aggregation is spared that: once for each state.
func (c *Controller) recordSkipped(t *task) {
	for i := range t.decision.Pods {
		v := &t.decision.Pods[i]
		if v.Reason == reason.None || v.BlockedBy != reason.InfeasibleBefore {
			continue
		}
		c.metrics.skipped(t)
		_, before := c.states[t.VPA.UID].Resize.Infeasible[v.Pod.UID]
		if !before {
			c.cfg.Events.Event(reference(update.Action{Pod: v.Pod}), corev1.EventTypeNormal, eventResizeSkipped,
				"Previously recorded in-place update was infeasible, current recommendation is not lower than previous, skipping "+
					"resize")
		}
	}
}
