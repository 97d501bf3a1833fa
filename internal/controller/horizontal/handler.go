package horizontal

import (
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
	// shadow has an HPA decided when the other controller writes its status.
	shadow bool
	// started is when this program began to watch.
	started time.Time
}

// OnAdd implements cache.ResourceEventHandler.
func (h *hpaHandler) OnAdd(object any, _ bool) {
	if hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		h.count(+1)
		h.added(observehorizontal.HPA(hpa))
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *hpaHandler) OnUpdate(before, after any) {
	old, ok := before.(*autoscalingv2.HorizontalPodAutoscaler)
	hpa, alsoOK := after.(*autoscalingv2.HorizontalPodAutoscaler)
	if ok && alsoOK {
		h.updated(observehorizontal.HPA(old), observehorizontal.HPA(hpa))
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (h *hpaHandler) OnDelete(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if hpa, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		h.count(-1)
		h.deleted(observe.HPA(hpa.Namespace, hpa.Name))
	}
}

func (h *hpaHandler) count(change int) {
	h.records.add(change, func(present int) {
		h.series.Objects.Set(float64(present))
		h.status.SetCount(present)
	})
}

func (h *hpaHandler) added(hpa observehorizontal.Autoscaler) {
	h.contests.Added(&h.records.of(hpa.Key()).contest, hpa)
	h.specChanged(hpa)
}

func (h *hpaHandler) updated(old, hpa observehorizontal.Autoscaler) {
	if old.UID != hpa.UID {
		// The informer has missed the deletion.
		h.added(hpa)
		return
	}
	record := h.records.of(hpa.Key())
	h.contests.Updated(&record.contest, hpa, time.Since(h.started))
	switch {
	case h.shadow && observehorizontal.StatusChanged(old.HorizontalPodAutoscaler, hpa.HorizontalPodAutoscaler):
		record.comparison.StatusWritten()
		h.queue.AddFull(hpa.Key(), time.Now())
	case observehorizontal.SpecChanged(old.HorizontalPodAutoscaler, hpa.HorizontalPodAutoscaler):
		h.specChanged(hpa)
	default:
		h.triggers.cacheChanged(hpa.Key(), record)
	}
}

// specChanged has the HPA decided at once.
func (h *hpaHandler) specChanged(hpa observehorizontal.Autoscaler) {
	h.records.setTarget(hpa)
	h.queue.AddFull(hpa.Key(), time.Now())
}

// deleted drops what is known of the HPA. With history by name, as upstream, its record is kept
// until it would have been decided next, and a new HPA of the same name inherits it.
func (h *hpaHandler) deleted(key observe.Key) {
	h.pods.Delete(key)
	if h.divergences.Has(divergence.DropSeries) {
		h.series.Forget(key)
	}
	h.records.forgetTarget(key)
	if h.divergences.Has(divergence.HistoryByUID) {
		h.queue.AddFull(key, time.Now())
	}
}

// podHandler feeds the index of pods, and measures those that become ready.
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
