package updater

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

const (
	// conditionWriters is how many conditions are written at a time.
	conditionWriters = 8
	// drainTimeout is how long the end of the process waits for what is not written yet.
	drainTimeout = 10 * time.Second
)

// conditionUpdate is one condition of an object.
type conditionUpdate struct {
	// change puts it into a status; false if it stands there already.
	change func(*vpav1.VerticalPodAutoscalerStatus) bool
	// written, if there is one, is called once it was written.
	written func()
}

// pendingConditions is what an object has not been told yet, by the conditions' types: of each
// the latest.
type pendingConditions struct {
	name    types.NamespacedName
	updates map[string]conditionUpdate
}

// conditions are written beside the passes, so that neither pods nor the next pass
// wait for them. An object has one writer at a time. What is lost with the process,
// the next one's first pass finds again.
type conditions struct {
	statuses Statuses
	objects  cache.Store
	log      logr.Logger
	metrics  *metrics
	queue    workqueue.TypedInterface[types.UID]

	mu      sync.Mutex
	pending map[types.UID]pendingConditions // guarded by mu
	// open is how many writes wait or are under way, and since when there are some.
	open  int       // guarded by mu
	since time.Time // guarded by mu
}

func newConditions(cfg *Config, m *metrics) *conditions {
	return &conditions{
		statuses: cfg.Statuses, objects: cfg.Autoscalers.GetStore(), log: cfg.Log, metrics: m,
		queue: workqueue.NewTyped[types.UID](), pending: map[types.UID]pendingConditions{},
	}
}

// enqueue has a condition written. One of the same type that waits is forgotten.
func (c *conditions) enqueue(vpa *vpav1.VerticalPodAutoscaler, kind string, s conditionUpdate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, ok := c.pending[vpa.UID]
	if !ok {
		u = pendingConditions{name: types.NamespacedName{Namespace: vpa.Namespace, Name: vpa.Name}, updates: map[string]conditionUpdate{}}
		c.pending[vpa.UID] = u
		c.count(1)
	}
	u.updates[kind] = s
	c.queue.Add(vpa.UID)
}

// count is called with mu held. How long it took to tell all objects is upstream's
// series with a step of its own, which is no part of a pass.
func (c *conditions) count(change int) {
	if c.open == 0 {
		c.since = time.Now()
	}
	c.open += change
	c.metrics.waiting.Set(float64(c.open))
	if c.open == 0 {
		c.metrics.latency.WithLabelValues("WriteConditions").Observe(time.Since(c.since).Seconds())
	}
}

// run starts the writers. The function that it returns ends them, once everything is
// written or lastWords are over.
func (c *conditions) run(ctx context.Context) (end func()) {
	// Whoever no longer leads, or has no more time, may still say why.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	for range conditionWriters {
		done.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	return func() {
		timer := time.AfterFunc(drainTimeout, cancel)
		c.queue.ShutDown()
		done.Wait()
		timer.Stop()
		cancel()
	}
}

// next writes what one object is to be told; false when there will be no more.
func (c *conditions) next(ctx context.Context) bool {
	uid, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(uid)
	c.mu.Lock()
	u := c.pending[uid]
	delete(c.pending, uid)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count(-1)
	}()
	// The latest that is known: what a pass saw may be old by now.
	object, _, err := c.objects.GetByKey(u.name.String())
	vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
	if err != nil || !ok || vpa.UID != uid {
		return true // It is gone.
	}
	c.write(ctx, vpa, u.updates)
	return true
}

func (c *conditions) write(ctx context.Context, vpa *vpav1.VerticalPodAutoscaler, statements map[string]conditionUpdate) {
	changed := map[string]bool{}
	written, err := c.statuses.UpdateStatus(ctx, vpa, func(s *vpav1.VerticalPodAutoscalerStatus) bool {
		clear(changed) // Somebody else was faster, and it is tried again.
		for kind, statement := range statements {
			if statement.change(s) {
				changed[kind] = true
			}
		}
		return len(changed) > 0
	})
	if err != nil {
		c.log.V(1).Info("a condition could not be written", "vpa", vpa.Namespace+"/"+vpa.Name, "error", err.Error())
		return
	}
	for kind := range changed {
		if told := statements[kind].written; told != nil && written != nil {
			told()
		}
	}
}
