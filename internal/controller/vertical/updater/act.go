package updater

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// maxWorkers is the number of workloads that are acted on at once; with a rate limit it is one, so that they keep their
// order. Sequential calls would leave the API server idle between them; 32 are a small part of what it admits from one
// client.
const maxWorkers = 32

// Upstream's reasons of events.
const (
	eventEvictedByVPA  = "EvictedByVPA"
	eventEvictedPod    = "EvictedPod"
	eventResized       = "InPlaceResizedByVPA"
	eventResizeSkipped = "InPlaceResizeSkipped"
)

// actor carries decisions out, within the limits that all workloads share. It is safe for concurrent use.
type actor struct {
	guard   guard
	client  kubernetes.Interface
	events  record.EventRecorder
	log     logr.Logger
	metrics *metrics
	// used reads the use of containers; it may be nil.
	used    func(ctx context.Context, namespace string, pods []string) map[string]map[string]vertical.Amounts
	changes *admission.Changes
	limits  *rateLimits
	budget  *clusterBudget
	claims  quotaClaims
	// interval is the longest duration of a pass.
	interval  time.Duration
	isLimited bool
}

func newActor(cfg *Config, m *metrics, changes *admission.Changes) *actor {
	return &actor{
		guard: guard{log: cfg.Log, panics: m.panics}, client: cfg.Client, events: cfg.Events, log: cfg.Log, metrics: m,
		used: cfg.Used, changes: changes, limits: newRateLimits(cfg), budget: newClusterBudget(cfg),
		interval: cfg.Interval, isLimited: cfg.EvictionRate > 0,
	}
}

// performAll carries the decisions out. If a rate limit or the end of the pass stops it, the remaining workloads wait;
// stoppedAt is the key of the workload where that happened, or else of the first one whose eviction exceeded the
// cluster's budget.
func (a *actor) performAll(ctx context.Context, tasks []*task) (stoppedAt string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.claims.begin()
	workers := maxWorkers
	if a.isLimited {
		workers = 1
	}
	queue := make(chan *task)
	var mu sync.Mutex // guards stoppedAt
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for t := range queue {
				if a.perform(ctx, t) {
					continue
				}
				mu.Lock()
				stoppedAt = t.Key()
				mu.Unlock()
				stop()
			}
		})
	}
	for _, t := range tasks {
		if t.decision.First() != update.Nothing {
			queue <- t
		}
	}
	close(queue)
	done.Wait()
	if stoppedAt == "" {
		return a.budget.firstRefused()
	}
	return stoppedAt
}

// perform carries out one workload's decision. It returns false if the pass must stop.
func (a *actor) perform(ctx context.Context, t *task) (goesOn bool) {
	defer a.guard.catch(t.Workload, &goesOn)
	if ctx.Err() != nil {
		t.decision.Defer(reason.RateLimit)
		return true // Another workload has stopped the pass.
	}
	a.readUsed(ctx, t)
	return t.decision.Play(&t.state, a.claims.of(t.VPA.Namespace), func(action update.Action) update.Result {
		return update.Result{Outcome: a.performOne(ctx, t, action), At: time.Now()}
	})
}

// readUsed reads the use of the pods to resize.
func (a *actor) readUsed(ctx context.Context, t *task) {
	if a.used == nil || t.decision.First() != update.Resize {
		return
	}
	names := make([]string, 0, len(t.decision.ToUpdate))
	for _, i := range t.decision.ToUpdate {
		names = append(names, t.decision.Pods[i].Pod.Name)
	}
	found := a.used(ctx, t.VPA.Namespace, names)
	t.observed.Cluster.Used = make(map[string]map[string]vertical.Amounts, len(found))
	for _, i := range t.decision.ToUpdate {
		pod := t.decision.Pods[i].Pod
		t.observed.Cluster.Used[pod.UID] = found[pod.Name]
	}
}

// performOne carries out one action on a pod, if the rate limit and the cluster's budget allow it.
func (a *actor) performOne(ctx context.Context, t *task, action update.Action) update.Outcome {
	isEviction := action.Kind == update.Evict
	switch {
	case isEviction && !a.changes.Await(ctx, t.VPA.UID, a.interval), !a.limits.wait(ctx, action.Kind):
		a.metrics.limited(t, action.Kind)
		return update.Deferred
	case isEviction && !a.budget.take(t.Key()):
		return update.OverClusterBudget
	}
	outcome := a.do(ctx, t, action)
	if isEviction && outcome != update.Done {
		a.budget.refund()
	}
	return outcome
}

// endBoost ends the start-up boost of a pod, if the rate limit allows it.
func (a *actor) endBoost(ctx context.Context, t *task, action update.Action) update.Result {
	if !a.limits.wait(ctx, action.Kind) {
		return update.Result{Outcome: update.Deferred}
	}
	return update.Result{Outcome: a.do(ctx, t, action), At: time.Now()}
}

// do calls the API server, and records the outcome in series, events and the log.
func (a *actor) do(ctx context.Context, t *task, action update.Action) update.Outcome {
	t.attempted = append(t.attempted, action.Pod.UID)
	outcome, err := do(ctx, a.client, a.log.WithValues("vpa", t.Key()), action)
	a.metrics.acted(t, action.Kind, outcome)
	a.recordEvents(t, action, outcome, err)
	return outcome
}

func (a *actor) recordEvents(t *task, action update.Action, outcome update.Outcome, err error) {
	log := a.log.WithValues("vpa", t.Key(), "pod", action.Pod.Name, "action", action.Kind.String(),
		"reason", action.Reason.String())
	if outcome != update.Done {
		log.V(1).Info("action failed", "err", fmt.Sprint(err))
		return
	}
	log.Info("pod changed")
	pod := reference(action)
	if action.Kind == update.Evict {
		a.events.Event(pod, corev1.EventTypeNormal, eventEvictedByVPA,
			"Pod was evicted by VPA Updater to apply resource recommendation.")
		a.events.Event(t.VPA, corev1.EventTypeNormal, eventEvictedPod,
			"VPA Updater evicted Pod "+action.Pod.Name+" to apply resource recommendation.")
		return
	}
	a.events.Event(pod, corev1.EventTypeNormal, eventResized, "Pod was resized in place by VPA Updater.")
}

func reference(action update.Action) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: action.Pod.Namespace, Name: action.Pod.Name, UID: types.UID(action.Pod.UID),
	}}
}

// recordSkipped counts the pods whose resize is not tried again in every pass, as upstream, whether other pods of the
// workload are changed or not. Upstream also sends an event in every pass; here there is one, after the node has
// refused.
func (a *actor) recordSkipped(t *task) {
	for i := range t.decision.Pods {
		v := &t.decision.Pods[i]
		if v.Reason == reason.None || v.BlockedBy != reason.InfeasibleBefore {
			continue
		}
		if !slices.Contains(t.attempted, v.Pod.UID) {
			a.metrics.skipped(t)
		}
		_, before := t.before.Resize.Infeasible[v.Pod.UID]
		if !before {
			a.events.Event(reference(update.Action{Pod: v.Pod}), corev1.EventTypeNormal, eventResizeSkipped,
				"Previously recorded in-place update was infeasible, current recommendation is not lower than previous, skipping "+
					"resize")
		}
	}
}
