package updater

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	"github.com/plimsoll-dev/plimsoll/internal/kube/evict"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podresize"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
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
	defer c.catch(t.workload, &goesOn)
	if ctx.Err() != nil {
		t.decision.Defer(reason.RateLimit)
		return true // Another workload has ended the pass.
	}
	c.used(ctx, t)
	completed := t.decision.Play(&t.state, c.claims.of(t.vpa.Namespace), func(a update.Action) update.Result {
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
	case !c.awaitAdmissionSync(ctx, t.vpa.UID, a.Kind) || !c.wait(ctx, a.Kind):
		c.metrics.limited(t, a.Kind)
		return update.Deferred
	case a.Kind == update.Evict && !c.budget.take(t.key()):
		return update.OverClusterBudget
	}
	outcome, err := c.do(ctx, t.vpa, a)
	if a.Kind == update.Evict && outcome != update.Done {
		c.budget.refund()
	}
	c.metrics.acted(t, a.Kind, outcome)
	c.recordEvents(t, a, outcome, err)
	return outcome
}

// wait waits until the rate limit allows the action; false if that is not within
// the pass.
func (c *Controller) wait(ctx context.Context, kind update.Kind) bool {
	b := c.bucketOf(kind)
	deadline, ends := ctx.Deadline()
	if ends {
		deadline = disruption.LastAction(deadline, c.cfg.Interval)
	}
	b.mu.Lock()
	at, ok, next := b.left.Reserve(time.Now(), deadline)
	b.left = next
	b.mu.Unlock()
	if !ok || ctx.Err() != nil {
		return false
	}
	return pause(ctx, time.Until(at))
}

// do calls the API server.
func (c *Controller) do(ctx context.Context, vpa *vpav1.VerticalPodAutoscaler, a update.Action) (update.Outcome, error) {
	uid := types.UID(a.Pod.UID)
	if a.Kind == update.Evict {
		err := evict.Pod(ctx, c.cfg.Client, a.Pod.Namespace, a.Pod.Name, uid)
		switch {
		case err == nil:
			return update.Done, nil
		case errors.Is(err, evict.ErrDisallowed):
			return update.Disallowed, err
		case errors.Is(err, evict.ErrGone):
			return update.Gone, err
		}
		return update.Failed, err
	}
	pod := podresize.Pod{Namespace: a.Pod.Namespace, Name: a.Pod.Name, UID: uid}
	if err := podresize.Resize(ctx, c.cfg.Client, pod, containersFor(a)); err != nil && (!errors.Is(err, podresize.ErrEmpty) || len(a.Unboosted) == 0) {
		switch {
		case errors.Is(err, podresize.ErrInfeasible):
			return update.Infeasible, err
		case errors.Is(err, podresize.ErrRefused):
			return update.Refused, err
		case errors.Is(err, podresize.ErrGone):
			return update.Gone, err
		}
		return update.Failed, err
	}
	annotations := map[string]*string{
		observevertical.AnnotationInPlaceUpdated: ptr.To("true"),
		observevertical.AnnotationResizedAt:      ptr.To(time.Now().UTC().Format(time.RFC3339)),
	}
	for _, container := range a.Unboosted {
		annotations[observevertical.AnnotationBoostPrefix+container] = nil
	}
	if err := podresize.Annotate(ctx, c.cfg.Client, pod, annotations); err != nil {
		// The resize is done; upstream goes on as well.
		c.cfg.Log.Info("resized, but not annotated", "vpa", vpa.Namespace+"/"+vpa.Name, "pod", a.Pod.Name, "error", err.Error())
	}
	return update.Done, nil
}

// containersFor is what a resize asks for.
func containersFor(a update.Action) []podresize.Container {
	var containers []podresize.Container
	for _, target := range a.Targets {
		resources := podresize.ResourceRequirements{
			Requests: observevertical.ListOf(target.Requests), Limits: observevertical.ListOf(target.Limits),
		}
		if !resources.IsEmpty() {
			containers = append(containers, podresize.Container{Name: target.Container, Resources: resources})
		}
	}
	return containers
}

// recordEvents says in events and the log what was done.
func (c *Controller) recordEvents(t *task, a update.Action, outcome update.Outcome, err error) {
	log := c.cfg.Log.WithValues("vpa", t.key(), "pod", a.Pod.Name, "action", a.Kind.String(), "reason", a.Reason.String())
	if outcome != update.Done {
		log.V(1).Info("not done", "error", fmt.Sprint(err))
		return
	}
	log.Info("done")
	pod := reference(a)
	if a.Kind == update.Evict {
		c.cfg.Events.Event(pod, corev1.EventTypeNormal, eventEvictedByVPA, "Pod was evicted by VPA Updater to apply resource recommendation.")
		c.cfg.Events.Event(t.vpa, corev1.EventTypeNormal, eventEvictedPod,
			"VPA Updater evicted Pod "+a.Pod.Name+" to apply resource recommendation.")
		return
	}
	c.cfg.Events.Event(pod, corev1.EventTypeNormal, eventResized, "Pod was resized in place by VPA Updater.")
}

func reference(a update.Action) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.Pod.Namespace, Name: a.Pod.Name, UID: types.UID(a.Pod.UID)}}
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
		_, before := c.states[t.vpa.UID].Resize.Infeasible[v.Pod.UID]
		if !before {
			c.cfg.Events.Event(reference(update.Action{Pod: v.Pod}), corev1.EventTypeNormal, eventResizeSkipped,
				"Previously recorded in-place update was infeasible, current recommendation is not lower than previous, skipping resize")
		}
	}
}

// enqueueCondition has the condition written if it is not what the object says already.
func (c *Controller) enqueueCondition(vpa *vpav1.VerticalPodAutoscaler, condition report.Condition) {
	status := corev1.ConditionFalse
	if condition.Blocked {
		status = corev1.ConditionTrue
	}
	want := vpav1.VerticalPodAutoscalerCondition{
		Type: report.Type, Status: status, Reason: condition.Reason, Message: condition.Message, LastTransitionTime: metav1.Now(),
	}
	c.conditions.enqueue(vpa, report.Type, conditionUpdate{change: func(s *vpav1.VerticalPodAutoscalerStatus) bool { return set(s, want) }})
}

// set puts the condition where its type stands in the order; false if it is there
// already.
func set(s *vpav1.VerticalPodAutoscalerStatus, want vpav1.VerticalPodAutoscalerCondition) bool {
	at := slices.IndexFunc(s.Conditions, func(c vpav1.VerticalPodAutoscalerCondition) bool { return c.Type >= want.Type })
	if at < 0 {
		s.Conditions = append(s.Conditions, want)
		return true
	}
	has := &s.Conditions[at]
	if has.Type != want.Type {
		s.Conditions = slices.Insert(s.Conditions, at, want)
		return true
	}
	if has.Status == want.Status {
		want.LastTransitionTime = has.LastTransitionTime
		if has.Reason == want.Reason && has.Message == want.Message {
			return false
		}
	}
	*has = want
	return true
}
