package podchange

import (
	"context"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// ErrDisallowed is returned if a PodDisruptionBudget does not allow an eviction now.
var ErrDisallowed = errors.New("disallowed by a PodDisruptionBudget")

// Evict evicts the pod with this UID.
func Evict(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) error {
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
