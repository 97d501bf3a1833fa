package scaling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const (
	// heldPeriods is for how many sync periods two overrides keep the next write back to the sync period.
	heldPeriods = 2
	// contestedTime is the time in which the last maxOverrides overrides name the other writer. Tools that set the count
	// back do so every few minutes.
	contestedTime = 30 * time.Minute
	maxOverrides  = 3
)

// overrides are other writers' changes of a replica count that was written here. The other writer sets the count back
// as fast as it is written, so that each write would cause the next: after two, writes come by the sync period.
type overrides struct {
	// written is the last count that was written, nil once another writer has set another; at is when.
	written *int32
	at      time.Time
	// noticed are when overrides were noticed, the newest first.
	noticed [maxOverrides]time.Time
	// by is the field manager of the last writer that was looked for.
	by string
}

// notice takes in the target's replica count, and reports whether another writer has set it.
func (o *overrides) notice(now time.Time, replicas int32) (isOverride bool) {
	if o.written == nil || *o.written == replicas {
		return false
	}
	o.written = nil
	copy(o.noticed[1:], o.noticed[:maxOverrides-1])
	o.noticed[0] = now
	return true
}

// isFight reports whether two overrides came a short time ago.
func (o *overrides) isFight(now time.Time, period time.Duration) bool {
	return !o.noticed[1].IsZero() && now.Sub(o.noticed[1]) <= heldPeriods*period
}

// heldUntil is until when the count is not written again; zero if it may be now.
func (o *overrides) heldUntil(now time.Time, period time.Duration) time.Time {
	if until := o.at.Add(period); o.isFight(now, period) && now.Before(until) {
		return until
	}
	return time.Time{}
}

func (o *overrides) isContested(now time.Time, period time.Duration) bool {
	first := o.noticed[maxOverrides-1]
	return o.isFight(now, period) || !first.IsZero() && now.Sub(first) <= contestedTime
}

// Observed takes in the replica count that a decision on the HPA begins with. It reports whether another writer now
// counts as one that sets the replica count too, as it did not before.
func (s *Scaler) Observed(ctx context.Context, r *Record, target scale.Target) (isContestedNow bool) {
	now, o := time.Now(), &r.writing.overrides
	wasContested := o.isContested(now, s.SyncPeriod)
	if !o.notice(now, target.Scale.Spec.Replicas) || !o.isContested(now, s.SyncPeriod) {
		return false
	}
	s.Workers.Yield(func() { o.by = s.writerOf(ctx, target) })
	return !wasContested
}

// OverriddenBy describes the other writer of the target's replica count; empty if there is none.
func (s *Scaler) OverriddenBy(r *Record, hpa observehorizontal.Autoscaler) string {
	o := &r.writing.overrides
	if !o.isContested(time.Now(), s.SyncPeriod) {
		return ""
	}
	by := o.by
	switch by {
	case "":
		by = "another writer"
	case s.FieldManager:
		by = "another process with the field manager " + by
	}
	return fmt.Sprintf("%s sets the replica count of %s too, so that plimsoll writes it once in a sync period at most; "+
		"leave the replica count to one of the two", by, observehorizontal.TargetName(hpa.HorizontalPodAutoscaler))
}

// writerOf is the field manager that set the target's replica count last; empty if that is not known. The scale does
// not show it, and objects of other kinds may not be read.
func (s *Scaler) writerOf(ctx context.Context, target scale.Target) (by string) {
	ctx, cancel := context.WithTimeout(ctx, scale.DefaultTimeout)
	defer cancel()
	list, err := s.list(ctx, target)
	if err != nil {
		return ""
	}
	// It has one object at most, and fails for what is no list.
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if o, err := meta.Accessor(item); err == nil && o.GetName() == target.Scale.Name {
			by = scale.WriterOf(o.GetManagedFields())
		}
		return nil
	})
	return by
}

// list lists the target alone: the rights are those of the informers, to list and to watch.
func (s *Scaler) list(ctx context.Context, target scale.Target) (runtime.Object, error) {
	namespace := target.Scale.Namespace
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", target.Scale.Name).String()}
	switch target.Resource.String() {
	case "deployments.apps":
		return s.Apps.Deployments(namespace).List(ctx, options)
	case "statefulsets.apps":
		return s.Apps.StatefulSets(namespace).List(ctx, options)
	case "replicasets.apps":
		return s.Apps.ReplicaSets(namespace).List(ctx, options)
	}
	return nil, errors.New("objects of other kinds may not be read")
}
