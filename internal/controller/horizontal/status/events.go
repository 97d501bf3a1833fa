package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kubeevents "github.com/plimsoll-dev/plimsoll/internal/kube/events"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// Event records an event, except a warning that was already recorded within the interval.
func (w *Writer) Event(autoscaler observehorizontal.Autoscaler, r *Record, e observehorizontal.Event) {
	e.Message = kubeevents.Cut(e.Message)
	if w.isRepeated(&r.last, e) {
		return
	}
	w.Events.Event(autoscaler.Object(), e.Type, e.Reason, e.Message)
}

// Warn records a warning, unless it was already recorded within the interval.
func (w *Writer) Warn(autoscaler observehorizontal.Autoscaler, r *Record, reason, message string) {
	w.Event(autoscaler, r, observehorizontal.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
}

// Panicked logs a panic over an HPA, and records an event unless isSilent is set.
func (w *Writer) Panicked(autoscaler observehorizontal.Autoscaler, cause any, isSilent bool) {
	panics.Report(cause, w.Log, w.Series.Panics.Inc, "deciding failed", "object", nameOf(autoscaler))
	if !isSilent {
		w.Events.Event(autoscaler.Object(), corev1.EventTypeWarning, "InternalError",
			"plimsoll failed on this object and left it as it is; its log says where")
	}
}

func (w *Writer) isRepeated(last *last, e observehorizontal.Event) bool {
	if w.EventInterval == 0 || e.Type != corev1.EventTypeWarning {
		return false
	}
	now := time.Now()
	for recorded, at := range last.events {
		if now.Sub(at) >= w.EventInterval {
			delete(last.events, recorded)
		}
	}
	if _, isRepeated := last.events[e]; isRepeated {
		return true
	}
	if last.events == nil {
		last.events = map[observehorizontal.Event]time.Time{}
	}
	last.events[e] = now
	return false
}
