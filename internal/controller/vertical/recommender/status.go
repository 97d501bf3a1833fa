package recommender

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	verticalstatus "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// StatusClient writes statuses.
type StatusClient interface {
	UpdateStatus(ctx context.Context, object *vpav1.VerticalPodAutoscaler,
		change func(*vpav1.VerticalPodAutoscalerStatus) bool) (*vpav1.VerticalPodAutoscaler, error)
}

var _ StatusClient = (*vpa.Client)(nil)

// statusWriter writes statuses.
type statusWriter struct {
	Client StatusClient
	Events record.EventRecorder
	Log    logr.Logger
	// Workers is the number of concurrent writes.
	Workers int
	// Recommended is called after an object's first recommendation, with the time of its creation.
	Recommended func(created time.Time)
	// Guard recovers from a panic in do, which is about an unreadable object.
	Guard func(about types.NamespacedName, do func())
}

// statusUpdate is a decision to write.
type statusUpdate struct {
	VPA      *vpav1.VerticalPodAutoscaler
	Decision *recommend.Decision
	// Written is set once Write has written it.
	Written bool
}

// Write writes the changed statuses.
func (w *statusWriter) Write(ctx context.Context, updates []statusUpdate) {
	var writing errgroup.Group
	writing.SetLimit(w.Workers)
	for i := range updates {
		u := &updates[i]
		if u.Decision.Write == verticalstatus.NotWritten {
			continue
		}
		writing.Go(func() error {
			w.writeOne(ctx, u)
			return nil
		})
	}
	_ = writing.Wait() // each write logs its error
}

func (w *statusWriter) writeOne(ctx context.Context, u *statusUpdate) {
	_, err := w.Client.UpdateStatus(ctx, u.VPA, func(old *vpav1.VerticalPodAutoscalerStatus) bool {
		u.fill(old)
		return true
	})
	if err != nil {
		w.logError(ctx, u.VPA, err)
		return
	}
	u.Written = true
	w.Log.V(1).Info("status written", "object", nameOf(u.VPA).String(), "reason", u.Decision.Write.String())
	if !hasRecommendation(&u.VPA.Status) && len(u.Decision.Recommendations) > 0 {
		w.Recommended(u.VPA.CreationTimestamp.Time)
	}
	about := reference(u.VPA)
	for _, e := range u.Decision.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		w.Events.Event(about, kind, e.Reason, e.Message)
	}
}

// logError logs the error of a status write, unless the process ends or the object was replaced meanwhile.
func (w *statusWriter) logError(ctx context.Context, object *vpav1.VerticalPodAutoscaler, err error) {
	if ctx.Err() == nil && !errors.Is(err, vpa.ErrReplaced) {
		w.Log.Error(err, "writing a status failed", "object", nameOf(object).String())
	}
}

// fill sets the status to the decision, and keeps the conditions of others.
func (u *statusUpdate) fill(s *vpav1.VerticalPodAutoscalerStatus) {
	s.Recommendation = observevertical.RecommendedOf(u.Decision.Recommendations)
	s.ObservedGeneration = &u.VPA.Generation
	owned := func(kind string) bool { return slices.Contains(recommend.Owned, kind) }
	conditions := slices.DeleteFunc(s.Conditions,
		func(c vpav1.VerticalPodAutoscalerCondition) bool { return owned(string(c.Type)) })
	observevertical.Conditions.Sort(conditions)
	for i := range u.Decision.Conditions {
		if c := &u.Decision.Conditions[i]; owned(c.Type) {
			conditions, _ = observevertical.Conditions.Set(conditions, *c)
		}
	}
	s.Conditions = conditions
}

func hasRecommendation(s *vpav1.VerticalPodAutoscalerStatus) bool {
	return s.Recommendation != nil && len(s.Recommendation.ContainerRecommendations) > 0
}

func reference(object *vpav1.VerticalPodAutoscaler) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscaler",
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}
