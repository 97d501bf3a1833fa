package upkeep

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Lease is the Lease by which the server shows that it serves new pods: while it is stale, the updater, upstream's too,
// evicts none.
type Lease struct {
	Client coordinationclient.LeaseInterface
	Name   string
	Holder string
	// Duration is written into it; the updater uses its own flag instead.
	Duration time.Duration
	// Ignored are the namespaces whose pods are left alone, Only the one whose pods may be changed; empty for all.
	Ignored []string
	Only    string
}

// Renew renews the Lease. All replicas renew the same one: a conflict with another counts as success.
func (l *Lease) Renew(ctx context.Context, now time.Time) error {
	lease, err := l.Client.Get(ctx, l.Name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	if isNew {
		lease, err = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.Name}}, nil
	}
	if err != nil {
		return fmt.Errorf("reading Lease %s: %w", l.Name, err)
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
	lease.Spec.HolderIdentity = &l.Holder
	lease.Spec.LeaseDurationSeconds = ptr.To(max(1, int32(l.Duration.Seconds())))
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[observevertical.AnnotationIgnoredNamespaces] = strings.Join(l.Ignored, ",")
	lease.Annotations[observevertical.AnnotationOnlyNamespace] = l.Only
	if isNew {
		_, err = l.Client.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = l.Client.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("renewing Lease %s: %w", l.Name, err)
	}
	return nil
}
