// Package status writes the status of autoscalers.
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

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

const attempts = 3

// Client has the calls about objects of one kind in one namespace.
type Client[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	UpdateStatus(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// Writer writes the status of objects of type T, which is an S.
type Writer[T metav1.Object, S any] struct {
	client func(namespace string) Client[T]
	// status returns an object's status, and with a copy of an object with another one, without managed fields: the API
	// server has them, the cache may have a part.
	status       func(T) *S
	with         func(T, *S) T
	fieldManager string
}

// HPAWriter writes the status of HorizontalPodAutoscalers.
type HPAWriter = Writer[*autoscalingv2.HorizontalPodAutoscaler, autoscalingv2.HorizontalPodAutoscalerStatus]

// New makes a writer for HPAs whose writes carry the field manager's name.
func New(client autoscalingclient.HorizontalPodAutoscalersGetter, fieldManager string) (*HPAWriter, error) {
	if client == nil || fieldManager == "" {
		return nil, errors.New("status writer: a client and a field manager are needed")
	}
	return &HPAWriter{
		client: func(namespace string) Client[*autoscalingv2.HorizontalPodAutoscaler] {
			return client.HorizontalPodAutoscalers(namespace)
		},
		status: func(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerStatus {
			return &hpa.Status
		},
		with: func(
			hpa *autoscalingv2.HorizontalPodAutoscaler, status *autoscalingv2.HorizontalPodAutoscalerStatus,
		) *autoscalingv2.HorizontalPodAutoscaler {
			next := *hpa
			next.Status, next.ManagedFields = *status, nil
			return &next
		},
		fieldManager: fieldManager,
	}, nil
}

// WorkloadWriter writes the status of WorkloadAutoscalers.
type WorkloadWriter = Writer[*plimsollv1alpha1.WorkloadAutoscaler, plimsollv1alpha1.WorkloadAutoscalerStatus]

// NewWorkload makes a writer for WorkloadAutoscalers whose writes carry the field manager's name.
func NewWorkload(client *wla.Client, fieldManager string) *WorkloadWriter {
	return &WorkloadWriter{
		client: func(namespace string) Client[*plimsollv1alpha1.WorkloadAutoscaler] {
			return client.WorkloadAutoscalers(namespace)
		},
		status: func(w *plimsollv1alpha1.WorkloadAutoscaler) *plimsollv1alpha1.WorkloadAutoscalerStatus {
			return &w.Status
		},
		with: func(
			w *plimsollv1alpha1.WorkloadAutoscaler, status *plimsollv1alpha1.WorkloadAutoscalerStatus,
		) *plimsollv1alpha1.WorkloadAutoscaler {
			next := *w
			next.Status, next.ManagedFields = *status, nil
			return &next
		},
		fieldManager: fieldManager,
	}
}

// Write stores the status unless the object has it already. It returns the resource version of the object as stored;
// empty without a write.
//
// A conflict with an edit of the spec does not lose the status: its observedGeneration names the generation that it is
// about. A conflict with another writer of status is an error.
func (w *Writer[T, S]) Write(ctx context.Context, object T, status *S) (version string, err error) {
	if equality.Semantic.DeepEqual(w.status(object), status) {
		return "", nil
	}
	base := object
	for attempt := 1; ; attempt++ {
		version, err := w.update(ctx, base, status)
		if err == nil {
			return version, nil
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return "", fmt.Errorf("failed to update status for %s: %w", object.GetName(), err)
		}
		latest, getErr := w.Get(ctx, object)
		if getErr != nil || latest.GetUID() != object.GetUID() ||
			!equality.Semantic.DeepEqual(w.status(latest), w.status(object)) {
			return "", fmt.Errorf("failed to update status for %s: %w", object.GetName(), err)
		}
		base = latest
	}
}

func (w *Writer[T, S]) update(ctx context.Context, base T, status *S) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	written, err := w.client(base.GetNamespace()).
		UpdateStatus(ctx, w.with(base, status), metav1.UpdateOptions{FieldManager: w.fieldManager})
	if err != nil {
		return "", err
	}
	return written.GetResourceVersion(), nil
}

// Get reads the object from the API server.
func (w *Writer[T, S]) Get(ctx context.Context, object T) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return w.client(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
}
