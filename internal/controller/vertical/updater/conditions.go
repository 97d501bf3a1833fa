package updater

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// StatusClient writes statuses. Each writer changes its own part only.
type StatusClient interface {
	UpdateStatus(ctx context.Context, object *vpav1.VerticalPodAutoscaler,
		Change func(*vpav1.VerticalPodAutoscalerStatus) bool) (*vpav1.VerticalPodAutoscaler, error)
}

var _ StatusClient = (*vpa.Client)(nil)

// conditionMetrics has the series of the conditionWriter.
type conditionMetrics struct {
	// Waiting is the number of writes that wait or are in progress, Latency the time until there was none.
	Waiting prometheus.Gauge
	Latency prometheus.Observer
}

const (
	// writers is the number of concurrent writes.
	writers = 8
	// DrainTimeout is the longest wait for unwritten conditions at the end of the process.
	DrainTimeout = 10 * time.Second
)

// conditionUpdate is one condition of an object.
type conditionUpdate struct {
	// change sets it in a status; false if the status has it already.
	change func(*vpav1.VerticalPodAutoscalerStatus) bool
	// written, if it is not nil, is called after the write.
	written func()
}

// pendingConditions has the conditions to write to an object, the latest of each type.
type pendingConditions struct {
	name    types.NamespacedName
	updates map[string]conditionUpdate
}

// conditionWriter has a queue of objects. One goroutine at a time writes to an object. Conditions that are lost at the
// end of the process are found again by the first pass of the next one.
type conditionWriter struct {
	statuses StatusClient
	objects  cache.Store
	log      logr.Logger
	metrics  conditionMetrics
	queue    workqueue.TypedInterface[types.UID]

	mu      sync.Mutex
	pending map[types.UID]pendingConditions // guarded by mu
	// open is the number of writes that wait or are in progress, since is when the first of them started to wait.
	open  int       // guarded by mu
	since time.Time // guarded by mu
}

// newConditionWriter returns a conditionWriter that writes nothing before Run. objects is the cache of the
// VerticalPodAutoscalers.
func newConditionWriter(
	statuses StatusClient, objects cache.Store, m conditionMetrics, log logr.Logger,
) *conditionWriter {
	return &conditionWriter{
		statuses: statuses, objects: objects, log: log, metrics: m,
		queue: workqueue.NewTyped[types.UID](), pending: map[types.UID]pendingConditions{},
	}
}

// Set queues the write of a condition, unless the object has it already. want.Since is set to the current time, for a
// status that changes. written, if it is not nil, is called after the write.
func (w *conditionWriter) Set(vpa *vpav1.VerticalPodAutoscaler, want condition.Condition, written func()) {
	want.Since = time.Now()
	w.enqueue(vpa, want.Type, conditionUpdate{
		change: func(s *vpav1.VerticalPodAutoscalerStatus) (isChanged bool) {
			s.Conditions, isChanged = observevertical.Conditions.Set(s.Conditions, want)
			return isChanged
		},
		written: written,
	})
}

// Remove queues the removal of the condition of this type.
func (w *conditionWriter) Remove(vpa *vpav1.VerticalPodAutoscaler, kind string) {
	w.enqueue(vpa, kind, conditionUpdate{change: func(s *vpav1.VerticalPodAutoscalerStatus) (isChanged bool) {
		s.Conditions, isChanged = observevertical.Conditions.Remove(s.Conditions, kind)
		return isChanged
	}})
}

// enqueue replaces a waiting update of the same type.
func (w *conditionWriter) enqueue(vpa *vpav1.VerticalPodAutoscaler, kind string, u conditionUpdate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.pending[vpa.UID]
	if !ok {
		p = pendingConditions{
			name:    types.NamespacedName{Namespace: vpa.Namespace, Name: vpa.Name},
			updates: map[string]conditionUpdate{},
		}
		w.pending[vpa.UID] = p
		w.countLocked(1)
	}
	p.updates[kind] = u
	w.queue.Add(vpa.UID)
}

// countLocked updates the series. Upstream's series has a step for the time to write all conditions, which is not part
// of a pass.
func (w *conditionWriter) countLocked(change int) {
	if w.open == 0 {
		w.since = time.Now()
	}
	w.open += change
	w.metrics.Waiting.Set(float64(w.open))
	if w.open == 0 {
		w.metrics.Latency.Observe(time.Since(w.since).Seconds())
	}
}

// Run starts the writers. end stops them once everything is written, or after DrainTimeout. ctx does not stop them: a
// process that no longer leads still writes why its last pass changed nothing.
func (w *conditionWriter) Run(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	for range writers {
		done.Go(func() {
			for w.WriteNext(ctx) {
			}
		})
	}
	return func() {
		timer := time.AfterFunc(DrainTimeout, cancel)
		w.queue.ShutDown()
		done.Wait()
		timer.Stop()
		cancel()
	}
}

// Waiting returns the number of objects that wait.
func (w *conditionWriter) Waiting() int { return w.queue.Len() }

// WriteNext waits for an object and writes its conditions; false once there will be no more.
func (w *conditionWriter) WriteNext(ctx context.Context) bool {
	uid, ended := w.queue.Get()
	if ended {
		return false
	}
	defer w.queue.Done(uid)
	w.mu.Lock()
	p := w.pending[uid]
	delete(w.pending, uid)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.countLocked(-1)
	}()
	// Use the latest version, from the cache: that of the pass may be old by now.
	object, _, err := w.objects.GetByKey(p.name.String())
	vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
	if err != nil || !ok || vpa.UID != uid {
		return true // The object was deleted.
	}
	w.write(ctx, vpa, p.updates)
	return true
}

func (w *conditionWriter) write(
	ctx context.Context, vpa *vpav1.VerticalPodAutoscaler, updates map[string]conditionUpdate,
) {
	var changed []func()
	stored, err := w.statuses.UpdateStatus(ctx, vpa, func(s *vpav1.VerticalPodAutoscalerStatus) bool {
		// After a conflict this is called again, with the status that another client wrote.
		changed = changed[:0]
		for _, u := range updates {
			if u.change(s) {
				changed = append(changed, u.written)
			}
		}
		return len(changed) > 0
	})
	if err != nil {
		w.log.V(1).Info("writing a condition failed", "vpa", vpa.Namespace+"/"+vpa.Name, "err", err.Error())
		return
	}
	for _, written := range changed {
		if written != nil && stored != nil {
			written()
		}
	}
}
