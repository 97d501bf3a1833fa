// Package admission tracks the state of the admission controller for the updater: whether it is alive, which
// namespaces it covers, and whether it can have seen what a VerticalPodAutoscaler has just changed. A pod that is
// evicted without it comes back with the requests that it had.
package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// leaseTimeout bounds a read of the Lease.
	leaseTimeout = 10 * time.Second
	// leaseShare is how often the Lease is read within its timeout.
	leaseShare = 4
)

// Lease is what the admission controller renews while it lives.
type Lease struct {
	// Ignored: pods are changed whether the admission controller lives or not.
	Ignored         bool
	Namespace, Name string
	Timeout         time.Duration
}

// Period is the time between two reads of the Lease, so that a renewal is seen soon after
// it was made.
func (l *Lease) Period() time.Duration { return max(time.Second, l.Timeout/leaseShare) }

// Watch reads the Lease. One goroutine may use it at a time.
type Watch struct {
	// Client, Lease and Observed must be set. Observed goes by when the Lease was seen to
	// change, not by the time that is written in it.
	Client   kubernetes.Interface
	Lease    Lease
	Observed bool

	seen observedLease
}

// Alive reads the Lease and reports whether the admission controller is alive.
func (w *Watch) Alive(ctx context.Context) (bool, error) {
	if w.Lease.Ignored {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	lease, err := w.Client.CoordinationV1().Leases(w.Lease.Namespace).Get(ctx, w.Lease.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("the admission controller's Lease: %w", err)
	}
	now := time.Now()
	w.seen.observe(lease, w.Lease.Timeout, now)
	if !w.Observed {
		return isFresh(lease, w.Lease.Timeout, now), nil
	}
	return now.Sub(w.seen.changed) < w.Lease.Timeout, nil
}

// Covers reports whether admission changes the pods of a namespace, as far as the Lease
// says. Upstream's says nothing.
func (w *Watch) Covers(namespace string) bool {
	return (w.seen.only == "" || w.seen.only == namespace) && !slices.Contains(w.seen.ignored, namespace)
}

// isFresh, as upstream: renewed or created within the timeout, by the holder's clock.
func isFresh(lease *coordinationv1.Lease, timeout time.Duration, now time.Time) bool {
	renewed := lease.Spec.RenewTime
	return lease.CreationTimestamp.Add(timeout).After(now) || renewed != nil && renewed.Add(timeout).After(now)
}

// observedLease is what this process has seen of the Lease, by its own clock: the holder's may be wrong.
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
