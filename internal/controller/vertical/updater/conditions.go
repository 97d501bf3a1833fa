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

// StatusClient writes status, each writer its own part.
type StatusClient interface {
	UpdateStatus(ctx context.Context, object *vpav1.VerticalPodAutoscaler,
		Change func(*vpav1.VerticalPodAutoscalerStatus) bool) (*vpav1.VerticalPodAutoscaler, error)
}

var _ StatusClient = (*vpa.Client)(nil)

// conditionMetrics has the series that the Writer sets.
type conditionMetrics struct {
	// Waiting is how many writes wait or are under way, Latency how long it took until
	// none was.
	Waiting prometheus.Gauge
	Latency prometheus.Observer
}

const (
	// writers is how many objects are written at a time.
	writers = 8
	// DrainTimeout is how long the end of the process waits for what is not written yet.
	DrainTimeout = 10 * time.Second
)

// conditionUpdate is one condition of an object.
type conditionUpdate struct {
	// change puts it into a status; false if it is there already.
	change func(*vpav1.VerticalPodAutoscalerStatus) bool
	// written, if there is one, is called once it was written.
	written func()
}

// pendingConditions is what is to be written of an object, by the conditions' types: of each the
// latest.
type pendingConditions struct {
	name    types.NamespacedName
	updates map[string]conditionUpdate
}

// conditionWriter has a queue of objects. An object has one writer at a time. What is lost with
// the process, the next one's first pass finds again.
type conditionWriter struct {
	statuses StatusClient
	objects  cache.Store
	log      logr.Logger
	metrics  conditionMetrics
	queue    workqueue.TypedInterface[types.UID]

	mu      sync.Mutex
	pending map[types.UID]pendingConditions // guarded by mu
	// open is how many writes wait or are under way, and since when there are some.
	open  int       // guarded by mu
	since time.Time // guarded by mu
}

// newConditionWriter makes a Writer that writes nothing before Run. objects is the cache of the
// VerticalPodAutoscalers.
func newConditionWriter(
	statuses StatusClient, objects cache.Store, m conditionMetrics, log logr.Logger,
) *conditionWriter {
	return &conditionWriter{
		statuses: statuses, objects: objects, log: log, metrics: m,
		queue: workqueue.NewTyped[types.UID](), pending: map[types.UID]pendingConditions{},
	}
}

// Set has the condition written, unless the object has it already. A status that changes does so now: want.Since is
// set. written, if it is not nil, is called once the condition was written.
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

// Remove has the condition of this type removed.
func (w *conditionWriter) Remove(vpa *vpav1.VerticalPodAutoscaler, kind string) {
	w.enqueue(vpa, kind, conditionUpdate{change: func(s *vpav1.VerticalPodAutoscalerStatus) (isChanged bool) {
		s.Conditions, isChanged = observevertical.Conditions.Remove(s.Conditions, kind)
		return isChanged
	}})
}

// enqueue replaces an update of the same type that waits.
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
		w.count(1)
	}
	p.updates[kind] = u
	w.queue.Add(vpa.UID)
}

// count is called with mu held. How long it took to write all conditions is a step of its
// own in upstream's series, which is no part of a pass.
func (w *conditionWriter) count(change int) {
	if w.open == 0 {
		w.since = time.Now()
	}
	w.open += change
	w.metrics.Waiting.Set(float64(w.open))
	if w.open == 0 {
		w.metrics.Latency.Observe(time.Since(w.since).Seconds())
	}
}

// Run starts the writers. The function that it returns ends them, once everything is
// written or DrainTimeout is over. ctx does not end them: a process that no longer leads
// still writes why its last pass changed nothing.
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

// Waiting is how many objects wait to be written.
func (w *conditionWriter) Waiting() int { return w.queue.Len() }

// WriteNext writes the conditions of one object, and waits for one; false when there will
// be no more.
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
		w.count(-1)
	}()
	// The cache has the latest version: what a pass saw may be old by now.
	object, _, err := w.objects.GetByKey(p.name.String())
	vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
	if err != nil || !ok || vpa.UID != uid {
		return true // The object is gone.
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
