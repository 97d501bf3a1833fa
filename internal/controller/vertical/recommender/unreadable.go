package recommender

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Unreadable is the reason of ConfigUnsupported while an object's spec cannot be read.
const Unreadable = "Unreadable"

// WriteUnreadable writes the error to the status of each object that cannot be read, once.
func (w *statusWriter) WriteUnreadable(ctx context.Context, objects []*vpav1.VerticalPodAutoscaler) {
	var writing errgroup.Group
	writing.SetLimit(w.Workers)
	for _, object := range objects {
		writing.Go(func() error {
			w.Guard(nameOf(object), func() { w.writeOneUnreadable(ctx, object) })
			return nil
		})
	}
	_ = writing.Wait() // each write logs its error
}

func (w *statusWriter) writeOneUnreadable(ctx context.Context, object *vpav1.VerticalPodAutoscaler) {
	want := condition.Condition{
		Type: recommend.ConfigUnsupported, Status: condition.True, Reason: Unreadable, Since: time.Now(),
		Message: fmt.Sprintf("the object cannot be decoded and is ignored: %s", object.Unreadable),
	}
	written, err := w.Client.UpdateStatus(ctx, object, func(status *vpav1.VerticalPodAutoscalerStatus) bool {
		conditions, isChanged := observevertical.Conditions.Set(status.Conditions, want)
		status.Conditions = conditions
		return isChanged
	})
	switch {
	case err != nil:
		w.logError(ctx, object, err)
	case written != nil:
		w.Events.Event(reference(object), corev1.EventTypeWarning, Unreadable, want.Message)
	}
}
