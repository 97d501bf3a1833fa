package recommender

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Unreadable is the reason of ConfigUnsupported while an object's spec cannot be read.
const Unreadable = "Unreadable"

// readable are the objects whose spec could be read. Of the others what was learnt is
// kept, and nothing is decided.
func (r *Recommender) readable(objects []*vpav1.VerticalPodAutoscaler) []*vpav1.VerticalPodAutoscaler {
	r.unreadable = nil
	return slices.DeleteFunc(objects, func(object *vpav1.VerticalPodAutoscaler) bool {
		if object.Unreadable == "" {
			return false
		}
		r.unreadable = append(r.unreadable, object)
		return true
	})
}

// forgetUnclaimed forgets the checkpoints that no object claimed, but for those of
// objects that could not be read yet.
func (r *Recommender) forgetUnclaimed() {
	waiting := map[types.NamespacedName]struct{}{}
	for _, object := range r.unreadable {
		waiting[nameOf(object)] = struct{}{}
	}
	maps.DeleteFunc(r.checkpoints.unclaimed, func(name types.NamespacedName, _ []stored) bool {
		_, waits := waiting[name]
		return !waits
	})
}

// writeUnreadable says on the objects that cannot be read why that is so, once.
func (r *Recommender) writeUnreadable(ctx context.Context, statuses statusWriter) {
	var writing errgroup.Group
	writing.SetLimit(r.config.Workers)
	for _, object := range r.unreadable {
		writing.Go(func() error {
			r.safely(nameOf(object), func() { statuses.writeOneUnreadable(ctx, object) })
			return nil
		})
	}
	_ = writing.Wait() // they tell of their errors themselves
}

func (s statusWriter) writeOneUnreadable(ctx context.Context, object *vpav1.VerticalPodAutoscaler) {
	want := condition.Condition{
		Type: recommend.ConfigUnsupported, Status: condition.True, Reason: Unreadable, Since: time.Now(),
		Message: fmt.Sprintf("the object cannot be read, and nothing is done for it: %s", object.Unreadable),
	}
	written, err := s.config.Store.UpdateStatus(ctx, object, func(status *vpav1.VerticalPodAutoscalerStatus) bool {
		conditions, isChanged := observevertical.Conditions.Set(status.Conditions, want)
		status.Conditions = conditions
		return isChanged
	})
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, vpa.ErrReplaced):
		s.log.Error(err, "status was not written", "object", nameOf(object).String())
	case err == nil && written != nil:
		s.config.Events.Event(reference(object), corev1.EventTypeWarning, Unreadable, want.Message)
	}
}

func reference(object *vpav1.VerticalPodAutoscaler) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscaler",
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}
