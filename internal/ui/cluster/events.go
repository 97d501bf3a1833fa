package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// mostEvents bounds the events read for an object.
const mostEvents = 500

// addEvents adds the API server's events about an object, or why they cannot be read.
func (r *Reader) addEvents(ctx context.Context, o *view.Object) {
	list, err := r.client.CoreV1().Events(o.Row.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": o.Row.Kind, "involvedObject.name": o.Row.Name}.String(),
		Limit:         mostEvents,
	})
	if err != nil {
		request := apierror.Request{Verb: "list", Resource: "events", Namespace: o.Row.Namespace}
		o.Notes = append(o.Notes, view.Note{What: "Events", Why: request.Sentence(err).Error()})
		return
	}
	if list.Continue != "" {
		o.Notes = append(o.Notes, view.Note{
			What: "Events", Why: fmt.Sprintf("there are more than %d; the newest may be missing", mostEvents),
		})
	}
	for i := range list.Items {
		e := &list.Items[i]
		// A server may not support the selector.
		if e.InvolvedObject.Kind != o.Row.Kind || e.InvolvedObject.Name != o.Row.Name {
			continue
		}
		o.Events = append(o.Events, view.Event{
			At: timeOf(e).UnixMilli(), Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, e.Count),
		})
	}
	slices.SortStableFunc(o.Events, func(a, b view.Event) int { return cmp.Compare(a.At, b.At) })
}

func timeOf(e *corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
