// Package status writes the status of HorizontalPodAutoscalers.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

const attempts = 3

// Writer writes status.
type Writer struct {
	client       autoscalingclient.HorizontalPodAutoscalersGetter
	fieldManager string
}

// New makes a writer whose writes carry the field manager's name.
func New(client autoscalingclient.HorizontalPodAutoscalersGetter, fieldManager string) (*Writer, error) {
	if client == nil || fieldManager == "" {
		return nil, errors.New("status writer: a client and a field manager are needed")
	}
	return &Writer{client: client, fieldManager: fieldManager}, nil
}

// Write stores the status unless the object has it already. It returns the
// object as stored, or nil where nothing was to be written.
//
// A conflict with an edit of the spec does not lose the status: it says with
// observedGeneration what it is about. A conflict with another writer of status
// is an error.
func (w *Writer) Write(ctx context.Context, object *autoscalingv2.HorizontalPodAutoscaler,
	status *autoscalingv2.HorizontalPodAutoscalerStatus,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	if equality.Semantic.DeepEqual(&object.Status, status) {
		return nil, nil
	}
	base := object
	for attempt := 1; ; attempt++ {
		written, err := w.update(ctx, base, status)
		if err == nil {
			return written, nil
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return nil, fmt.Errorf("failed to update status for %s: %w", object.Name, err)
		}
		latest, getErr := w.Get(ctx, object)
		if getErr != nil || latest.UID != object.UID || !equality.Semantic.DeepEqual(&latest.Status, &object.Status) {
			return nil, fmt.Errorf("failed to update status for %s: %w", object.Name, err)
		}
		base = latest
	}
}

func (w *Writer) update(ctx context.Context, base *autoscalingv2.HorizontalPodAutoscaler,
	status *autoscalingv2.HorizontalPodAutoscalerStatus,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	next := *base
	next.Status = *status
	// Whose fields are whose is what the API server knows; the cache may have a part.
	next.ManagedFields = nil
	return w.client.HorizontalPodAutoscalers(base.Namespace).
		UpdateStatus(ctx, &next, metav1.UpdateOptions{FieldManager: w.fieldManager})
}

// Get reads the object from the API server.
func (w *Writer) Get(
	ctx context.Context, object *autoscalingv2.HorizontalPodAutoscaler,
) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return w.client.HorizontalPodAutoscalers(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
}
