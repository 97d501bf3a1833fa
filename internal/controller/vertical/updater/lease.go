package updater

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseTimeout bounds the question for the Lease.
const leaseTimeout = 10 * time.Second

// admits reports whether the admission controller is alive: without it, a pod that
// is evicted comes back with the requests that it had.
func (c *Controller) admits(ctx context.Context) (bool, error) {
	if c.cfg.Lease.Ignored {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	lease, err := c.cfg.Client.CoordinationV1().Leases(c.cfg.Lease.Namespace).Get(ctx, c.cfg.Lease.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("the admission controller's Lease: %w", err)
	}
	return isFresh(lease, c.cfg.Lease.Timeout, time.Now()), nil
}

// isFresh, as upstream: renewed or created within the timeout.
func isFresh(lease *coordinationv1.Lease, timeout time.Duration, now time.Time) bool {
	renewed := lease.Spec.RenewTime
	return lease.CreationTimestamp.Add(timeout).After(now) || renewed != nil && renewed.Add(timeout).After(now)
}
