package updater

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

const (
	// maxWorkers is how many workloads are acted on at a time; under a rate limit it is one, so that their turns are kept.
	// One call after the other leaves the API server idle in between; 32 are a small part of what it lets one client have
	// under way.
	maxWorkers = 32
	// stalePasses is how many passes are left out before objects say why.
	stalePasses = 2
)

// task is a workload with what was decided about it.
type task struct {
	*workloads.Workload
	observed *update.Observation
	decision update.Decision
	state    update.State
	// evictionsStopped is why nothing is evicted in the whole cluster.
	evictionsStopped reason.Reason
}

// pass looks at all workloads once. What it has no time for, the next one begins
// with.
func (c *Controller) pass(ctx context.Context) {
	timer, began := c.metrics.begin(), time.Now()
	defer timer.total()
	c.reportFeatures()
	if !c.checkAdmission(ctx) {
		return
	}
	timer.step("ListVPAs")
	found := c.workloads.Find(ctx)
	timer.step("FilterPods")
	tasks := c.decide(found)
	c.metrics.countControlled(tasks)
	c.stopEvictions(time.Now(), tasks)
	c.claims.begin()
	timer.step("Decide")
	c.act(ctx, tasks)
	timer.step("EvictPods")
	c.saveStates(tasks)
	c.lastPasses.record(began, tasks, func(uid types.UID) bool { _, ok := c.names[uid]; return ok })
	c.metrics.countPass(tasks)
	c.enqueueConditions(tasks)
}

// checkAdmission asks for the Lease. Objects say that nobody renews it when that has
// lasted for a while.
func (c *Controller) checkAdmission(ctx context.Context) bool {
	alive, err := c.admission.Alive(ctx)
	if alive {
		c.stale = 0
		return true
	}
	c.metrics.invalidLease(err)
	c.lastPasses.recordSkipped()
	c.cfg.Log.Info("left out: the admission controller does not renew its Lease",
		"lease", c.cfg.Lease.Namespace+"/"+c.cfg.Lease.Name, "error", fmt.Sprint(err))
	c.stale++
	if c.stale < stalePasses {
		return false
	}
	for _, candidates := range c.workloads.Targets(ctx) {
		for _, w := range candidates {
			if w.Policy.Mode.Disrupts() {
				c.conditions.Set(w.VPA, report.Stale(), nil)
			}
		}
	}
	return false
}

// decide has the core look at each workload, in the order in which it is their
// turn.
func (c *Controller) decide(found []*workloads.Workload) []*task {
	byKey := make(map[string]*workloads.Workload, len(found))
	keys := make([]string, 0, len(found))
	for _, w := range found {
		byKey[w.Key()] = w
		keys = append(keys, w.Key())
	}
	now, shared := time.Now(), &workloads.Shared{}
	var tasks []*task
	for _, key := range priority.Rotate(keys, c.last) {
		t := &task{Workload: byKey[key]}
		if c.decideOne(now, t, shared) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// decideOne reports whether there is a decision. What goes wrong with one object
// does not keep the others from theirs.
func (c *Controller) decideOne(now time.Time, t *task, shared *workloads.Shared) (ok bool) {
	defer c.catch(t.Workload, &ok)
	t.observed = c.workloads.Observation(t.Workload, shared)
	t.decision, t.state = update.Decide(now, &t.Policy, c.states[t.VPA.UID], t.observed)
	return true
}

// catch keeps a panic to one object.
func (c *Controller) catch(w *workloads.Workload, ok *bool) {
	if problem := recover(); problem != nil {
		*ok = false
		c.metrics.panics.Inc()
		c.cfg.Log.Error(fmt.Errorf("%v", problem), "a defect: the object is left out", "vpa", w.Key(),
			"stack", string(debug.Stack()))
	}
}

// act carries the decisions out. When a rate limit or the time says stop, the rest
// waits.
func (c *Controller) act(ctx context.Context, tasks []*task) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := maxWorkers
	if c.cfg.EvictionRate > 0 {
		workers = 1
	}
	queue := make(chan *task)
	var mu sync.Mutex
	c.last = ""
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for t := range queue {
				if c.perform(ctx, t) {
					continue
				}
				mu.Lock()
				c.last = t.Key()
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
	if c.last == "" {
		c.last = c.budget.refused
	}
}

// saveStates keeps what the next pass has to know, of objects whose target could not
// be found this time too, and nothing of objects that are gone.
func (c *Controller) saveStates(tasks []*task) {
	for _, t := range tasks {
		c.states[t.VPA.UID] = t.state
		c.names[t.VPA.UID] = types.NamespacedName{Namespace: t.VPA.Namespace, Name: t.VPA.Name}
	}
	for uid, name := range c.names {
		object, exists, err := c.cfg.Autoscalers.GetStore().GetByKey(name.String())
		vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
		if err != nil || exists && ok && vpa.UID == uid {
			continue
		}
		delete(c.states, uid)
		delete(c.names, uid)
		if !exists {
			c.metrics.forget(name)
		}
	}
}

// enqueueConditions says what has become of each workload, once nothing more is done: while pods
// are changed, the API server has enough to do.
func (c *Controller) enqueueConditions(tasks []*task) {
	for _, t := range tasks {
		if condition, ok := report.Of(&t.decision); ok {
			c.conditions.Set(t.VPA, condition, nil)
		}
	}
}

// used reads what the pods use that are to be resized.
func (c *Controller) used(ctx context.Context, t *task) {
	if c.cfg.Used == nil || t.decision.First() != update.Resize {
		return
	}
	names := make([]string, 0, len(t.decision.ToUpdate))
	for _, i := range t.decision.ToUpdate {
		names = append(names, t.decision.Pods[i].Pod.Name)
	}
	found := c.cfg.Used(ctx, t.VPA.Namespace, names)
	t.observed.Cluster.Used = make(map[string]map[string]vertical.Amounts, len(found))
	for _, i := range t.decision.ToUpdate {
		pod := t.decision.Pods[i].Pod
		t.observed.Cluster.Used[pod.UID] = found[pod.Name]
	}
}
