// Package admission tracks the state of the admission controller for the updater: whether it is alive, which namespaces
// it covers, and whether it can have seen the latest change of a VerticalPodAutoscaler. Without it, the replacement of
// an evicted pod gets the same requests as before.
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
	// leaseShare is the number of reads of the Lease within its timeout.
	leaseShare = 4
)

// Lease is the Lease that the admission controller renews.
type Lease struct {
	// Ignored is set if pods are changed whether the admission controller is alive or not.
	Ignored         bool
	Namespace, Name string
	Timeout         time.Duration
}

// Period returns the time between two reads of the Lease. It is short, so that a renewal is seen soon.
func (l *Lease) Period() time.Duration { return max(time.Second, l.Timeout/leaseShare) }

// Watch reads the Lease. It must be used by one goroutine at a time.
type Watch struct {
	// Client, Lease and Observed must be set. With Observed, the time at which this process saw the Lease change counts,
	// instead of the time in the Lease.
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

// Covers reports whether admission changes the pods of a namespace, according to the Lease. Upstream's Lease does not
// restrict it.
func (w *Watch) Covers(namespace string) bool {
	return (w.seen.only == "" || w.seen.only == namespace) && !slices.Contains(w.seen.ignored, namespace)
}

// isFresh reports, as upstream, whether the Lease was renewed or created within the timeout, by the holder's clock.
func isFresh(lease *coordinationv1.Lease, timeout time.Duration, now time.Time) bool {
	renewed := lease.Spec.RenewTime
	return lease.CreationTimestamp.Add(timeout).After(now) || renewed != nil && renewed.Add(timeout).After(now)
}

// observedLease is the state of the Lease by this process's own clock: the holder's may be wrong.
type observedLease struct {
	uid     types.UID
	renewed metav1.MicroTime
	// changed is when this process last saw a renewal; zero before the first one.
	changed time.Time
	// ignored has the namespaces that admission ignores, only is the single one that it covers.
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
		// The first read has only the time in the Lease. If that is wrong, the next renewal shows it.
		l.changed = now
	}
	l.uid, l.renewed = lease.UID, renewed
}
