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

// LagPeriods is for how many sync periods the cache may be behind the last status write before
// the API server is asked which of the two is right.
const LagPeriods = 2

// IsBehind reports whether the cached HPA is older than the last status write, so that the
// decision that began then has to wait. Versions that cannot be compared are taken to be new
// enough.
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
		w.endLag(l)
	case l.since.IsZero():
		l.since = began
	}
	return isBehind
}

// Awaited is why a decision is to be made that waits for the cache; false if none does.
func (r *Record) Awaited() (why trigger.Kind, isAwaited bool) {
	r.lag.mu.Lock()
	defer r.lag.mu.Unlock()
	return r.lag.awaited, r.lag.isAwaited
}

// Forget takes an HPA that is gone out of the series of stale ones.
func (w *Writer) Forget(r *Record) {
	r.lag.mu.Lock()
	defer r.lag.mu.Unlock()
	w.endLag(&r.lag)
}

// isOlder reports whether one resource version is known to be older than the other.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// endLag needs the lag's lock.
func (w *Writer) endLag(l *lag) {
	if l.isCounted {
		w.Series.Stale.Dec()
	}
	l.since, l.asked, l.isCounted = time.Time{}, time.Time{}, false
}

// CheckVersion asks the API server, where the cache has been behind for long, whether resource
// versions have gone back, as those of a restored etcd do. Then the last write means nothing any
// more, and true is returned. Otherwise the cache is really behind, and nothing else in it would
// be good to decide on.
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

// IsStored asks the API server whether the object is still as the cache has it.
func (w *Writer) IsStored(ctx context.Context, autoscaler observehorizontal.Autoscaler, since time.Time) bool {
	stored, err := w.read(ctx, autoscaler, since)
	return err == nil && stored.GetUID() == autoscaler.UID && stored.GetResourceVersion() == autoscaler.ResourceVersion
}

// isCheckDue reports whether the API server is to be asked, and counts the HPA as stale then.
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

// isFirstRegression reports whether no HPA's resource version went back a moment ago.
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
