// Package evict evicts pods through the API server, which respects
// PodDisruptionBudgets. The caller learns of their refusals.
package evict

import (
	"context"
	"errors"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// timeout bounds one call to the API server.
const timeout = 10 * time.Second

var (
	// ErrDisallowed says that a PodDisruptionBudget does not allow it now.
	ErrDisallowed = errors.New("disallowed by a PodDisruptionBudget")
	// ErrGone says that the pod is no longer there, or that there is another by now
	// under its name.
	ErrGone = errors.New("gone")
)

// Pod evicts this pod, and not another one of its name.
func Pod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := client.CoreV1().Pods(namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsTooManyRequests(err):
		err = fmt.Errorf("%w: %w", ErrDisallowed, err)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	return fmt.Errorf("evicting pod %s/%s: %w", namespace, name, err)
}
