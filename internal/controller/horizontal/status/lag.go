package status

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// LagPeriods is the number of sync periods that the cache may be behind the last status write before the Writer reads
// the object from the API server.
const LagPeriods = 2

// IsBehind reports whether the cached HPA is older than the last status write, so that the decision that began then has
// to wait. Versions that cannot be compared count as new enough.
func (w *Writer) IsBehind(r *Record, autoscaler observehorizontal.Autoscaler, began time.Time, why trigger.Kind) bool {
	l := &r.lag
	isBehind := r.last.version != "" && isOlder(autoscaler.ResourceVersion, r.last.version)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isAwaited || why < l.awaited {
		l.awaited = why
	}
	l.isAwaited = isBehind
	switch {
	case !isBehind:
		w.endLagLocked(l)
	case l.since.IsZero():
		l.since = began
	}
	return isBehind
}

// Awaited returns the cause of the decision that waits for the cache; false if none does.
func (r *Record) Awaited() (why trigger.Kind, isAwaited bool) {
	r.lag.mu.Lock()
	defer r.lag.mu.Unlock()
	return r.lag.awaited, r.lag.isAwaited
}

// Forget removes a deleted HPA from the series of stale ones.
func (w *Writer) Forget(r *Record) {
	r.lag.mu.Lock()
	defer r.lag.mu.Unlock()
	w.endLagLocked(&r.lag)
}

// isOlder reports whether one resource version is known to be older than the other.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

func (w *Writer) endLagLocked(l *lag) {
	if l.isCounted {
		w.Series.Stale.Dec()
	}
	l.since, l.asked, l.isCounted = time.Time{}, time.Time{}, false
}

// CheckVersion reads the object from the API server if the cache has been behind for long. It returns true if resource
// versions have gone back, as after etcd was restored: then the last write no longer counts. Otherwise the cache is
// really behind, and its other objects are not good to decide on either.
func (w *Writer) CheckVersion(
	ctx context.Context, r *Record, autoscaler observehorizontal.Autoscaler, began time.Time,
) (wentBack bool) {
	if !w.isCheckDue(&r.lag, began) {
		return false
	}
	stored, err := w.read(ctx, autoscaler, began)
	if err != nil || stored.GetUID() != autoscaler.UID || !isOlder(stored.GetResourceVersion(), r.last.version) {
		w.Log.V(1).Info("the cache is behind the last status write", "object", nameOf(autoscaler),
			"cached", autoscaler.ResourceVersion, "written", r.last.version)
		return false
	}
	w.Series.VersionRegressions.Inc()
	w.Forget(r)
	log := w.Log.V(1)
	if w.isFirstRegression() {
		log = w.Log
	}
	log.Info("resource versions have gone back, as after etcd was restored; what was written before is no longer "+
		"waited for",
		"object", nameOf(autoscaler), "stored", stored.GetResourceVersion(), "written", r.last.version)
	r.last.version = ""
	return true
}

// IsStored reads the object from the API server and reports whether the cache has its latest version.
func (w *Writer) IsStored(ctx context.Context, autoscaler observehorizontal.Autoscaler, since time.Time) bool {
	stored, err := w.read(ctx, autoscaler, since)
	return err == nil && stored.GetUID() == autoscaler.UID && stored.GetResourceVersion() == autoscaler.ResourceVersion
}

// isCheckDue reports whether to read the object from the API server, and counts the HPA as stale then.
func (w *Writer) isCheckDue(l *lag, now time.Time) bool {
	longest := LagPeriods * w.SyncPeriod
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) < longest || now.Sub(l.asked) < longest {
		return false
	}
	if !l.isCounted {
		w.Series.Stale.Inc()
	}
	l.asked, l.isCounted = now, true
	return true
}

// isFirstRegression reports whether this is the first HPA whose resource version went back in a while.
func (w *Writer) isFirstRegression() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isFirst := time.Since(w.wentBack) > LagPeriods*w.SyncPeriod
	w.wentBack = time.Now()
	return isFirst
}

// read reads the HPA from the API server, not from its caches.
func (w *Writer) read(
	ctx context.Context, autoscaler observehorizontal.Autoscaler, since time.Time,
) (stored metav1.Object, err error) {
	w.Workers.Yield(func() {
		if err = w.Reads.Acquire(ctx, KindOf(autoscaler), since, kubestatus.DefaultTimeout); err != nil {
			return
		}
		defer w.Reads.Release(KindOf(autoscaler))
		if autoscaler.IsWorkload() {
			stored, err = w.workloads.Get(ctx, autoscaler.Workload)
			return
		}
		stored, err = w.hpas.Get(ctx, autoscaler.HPA)
	})
	return stored, err
}
