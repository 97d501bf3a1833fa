package horizontal

import (
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// hpaHandler feeds the queue from the informer of HPAs.
type hpaHandler struct {
	queue    *schedule.Queue
	records  *hpaRecords
	triggers *triggers
	pods     *podindex.Index
	contests *takeover.Detector
	status   *status.Writer
	series   *monitor.Series

	divergences divergence.Set
	mode        takeover.Mode

	// mu guards the following, and orders the updates of the series and of the status writer's count.
	mu sync.Mutex
	// hpas and workloads count the objects in the cache; the record of a deleted one may outlive it.
	hpas, workloads int
}

// OnAdd implements cache.ResourceEventHandler.
func (h *hpaHandler) OnAdd(object any, isInitial bool) {
	autoscaler, ok := autoscalerOf(object)
	if !ok {
		return
	}
	h.count(autoscaler.Kind(), +1)
	if isInitial && autoscaler.IsWorkload() {
		// An autoscaler of the same target that takes precedence may follow in the list.
		h.contests.Added(&h.records.of(autoscaler.Key()).contest, autoscaler)
		h.records.targets.set(autoscaler)
		return
	}
	h.added(autoscaler)
}

// workloadsListed schedules the WorkloadAutoscalers that existed at the start.
func (h *hpaHandler) workloadsListed(keys []observe.Key) { h.decideAgain(keys) }

// OnUpdate implements cache.ResourceEventHandler.
func (h *hpaHandler) OnUpdate(before, after any) {
	old, ok := autoscalerOf(before)
	autoscaler, alsoOK := autoscalerOf(after)
	if ok && alsoOK {
		h.updated(old, autoscaler)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (h *hpaHandler) OnDelete(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if autoscaler, ok := autoscalerOf(object); ok {
		h.count(autoscaler.Kind(), -1)
		h.deleted(autoscaler.Key())
	}
}

// autoscalerOf converts an informer's object to the loop's form.
func autoscalerOf(object any) (observehorizontal.Autoscaler, bool) {
	switch o := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return observehorizontal.HPA(o), true
	case *observehorizontal.Autoscaler:
		return *o, true
	}
	return observehorizontal.Autoscaler{}, false
}

func (h *hpaHandler) count(kind observe.Kind, change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if kind == observe.WorkloadAutoscaler {
		h.workloads += change
	} else {
		h.hpas += change
	}
	h.series.Objects.Set(float64(h.hpas + h.workloads))
	h.status.SetCount(h.hpas, h.workloads)
}

func (h *hpaHandler) added(autoscaler observehorizontal.Autoscaler) {
	if h.mode.Ignores(autoscaler.Kind()) {
		h.decideAgain(h.records.targets.set(autoscaler))
		return
	}
	if !h.mode.Compares(autoscaler.Kind()) {
		h.contests.Added(&h.records.of(autoscaler.Key()).contest, autoscaler)
	}
	h.specChanged(autoscaler)
}

func (h *hpaHandler) updated(old, autoscaler observehorizontal.Autoscaler) {
	if old.UID != autoscaler.UID {
		// The informer has missed the deletion.
		h.added(autoscaler)
		return
	}
	if h.mode.Ignores(autoscaler.Kind()) {
		h.decideAgain(h.records.targets.set(autoscaler))
		return
	}
	record := h.records.of(autoscaler.Key())
	switch {
	case !h.mode.Compares(autoscaler.Kind()):
		h.contests.Updated(&record.contest, old, autoscaler)
	case observehorizontal.StatusChanged(old, autoscaler):
		record.comparison.StatusWritten()
		h.queue.AddFull(autoscaler.Key(), time.Now())
	}
	switch {
	case observehorizontal.SpecChanged(old, autoscaler):
		h.specChanged(autoscaler)
	default:
		h.triggers.cacheChanged(autoscaler.Key(), record)
	}
}

func (h *hpaHandler) decideAgain(keys []observe.Key) {
	for _, key := range keys {
		h.queue.AddFull(key, time.Now())
	}
}

// specChanged makes the HPA due now, and the others whose target it has taken or left.
func (h *hpaHandler) specChanged(autoscaler observehorizontal.Autoscaler) {
	h.decideAgain(h.records.targets.set(autoscaler))
	h.queue.AddFull(autoscaler.Key(), time.Now())
}

// deleted drops the HPA's pods and series. With history by name, as upstream, its record is kept until the next
// decision would have been due, and a new HPA of the same name inherits it.
func (h *hpaHandler) deleted(key observe.Key) {
	if h.mode.Ignores(key.Kind) {
		h.decideAgain(h.records.targets.forget(key))
		return
	}
	h.pods.Delete(key)
	if h.divergences.Has(divergence.DropSeries) {
		h.series.Forget(key)
	}
	h.decideAgain(h.records.targets.forget(key))
	if h.divergences.Has(divergence.HistoryByUID) {
		h.queue.AddFull(key, time.Now())
	}
}

// podHandler feeds the index of pods, and measures the start-up time of pods that become ready.
func (c *Controller) podHandler() podcache.Handler[*observe.Pod] {
	h := c.pods.Handler(c.triggers.podsChanged())
	h.Update = func(before, after *observe.Pod) {
		h.Add(after, false)
		if observe.BecameReady(before, after) {
			c.series.Startup.Ready(after, c.pods.Of(after.Namespace(), after.Name))
		}
	}
	return h
}
