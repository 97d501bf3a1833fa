package updater

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// leaseTimeout bounds the question for the Lease.
	leaseTimeout = 10 * time.Second
	// leaseShare is how often the Lease is read within its timeout.
	leaseShare = 4
)

// admissionAlive reports whether the admission controller is alive: without it, a pod that
// is evicted comes back with the requests that it had.
func (c *Controller) admissionAlive(ctx context.Context) (bool, error) {
	if c.cfg.Lease.Ignored {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	lease, err := c.cfg.Client.CoordinationV1().Leases(c.cfg.Lease.Namespace).Get(ctx, c.cfg.Lease.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("the admission controller's Lease: %w", err)
	}
	now := time.Now()
	c.lease.observe(lease, c.cfg.Lease.Timeout, now)
	if !c.cfg.Flags.Divergences.Has(divergence.ObservedLease) {
		return isFresh(lease, c.cfg.Lease.Timeout, now), nil
	}
	return now.Sub(c.lease.changed) < c.cfg.Lease.Timeout, nil
}

// isFresh, as upstream: renewed or created within the timeout, by the clock of
// whoever renewed it.
func isFresh(lease *coordinationv1.Lease, timeout time.Duration, now time.Time) bool {
	renewed := lease.Spec.RenewTime
	return lease.CreationTimestamp.Add(timeout).After(now) || renewed != nil && renewed.Add(timeout).After(now)
}

// observedLease is what this process has seen of the Lease, by its own clock: that
// of whoever renews it may be wrong.
type observedLease struct {
	uid     types.UID
	renewed metav1.MicroTime
	// changed is when it was last seen to have been renewed; zero if it never was.
	changed time.Time
	// ignored and only are the namespaces that admission leaves alone, and the one that
	// it looks at.
	ignored []string
	only    string
}

func (l *observedLease) observe(lease *coordinationv1.Lease, timeout time.Duration, now time.Time) {
	l.only = lease.Annotations[observevertical.AnnotationOnlyNamespace]
	l.ignored = strings.Split(lease.Annotations[observevertical.AnnotationIgnoredNamespaces], ",")
	renewed := metav1.NewMicroTime(lease.CreationTimestamp.Time)
	if lease.Spec.RenewTime != nil {
		renewed = *lease.Spec.RenewTime
	}
	isFirst := l.renewed.IsZero()
	switch {
	case l.uid == lease.UID && l.renewed.Equal(&renewed):
		return
	case !isFirst, now.Sub(renewed.Time).Abs() < timeout:
		// At first sight there is nothing but the time in it. If that is wrong, the next
		// renewal shows it.
		l.changed = now
	}
	l.uid, l.renewed = lease.UID, renewed
}

// covers reports whether admission looks at the pods of a namespace, as far as the
// Lease tells. Upstream's tells nothing.
func (l *observedLease) covers(namespace string) bool {
	return (l.only == "" || l.only == namespace) && !slices.Contains(l.ignored, namespace)
}

// watchLease reads the Lease between passes, so that a renewal is seen soon after it
// was made.
func (c *Controller) watchLease(ctx context.Context) {
	if _, err := c.admissionAlive(ctx); err != nil {
		c.cfg.Log.V(1).Info("between passes", "error", err.Error())
	}
}
