package horizontal

import (
	"context"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
)

// stalePeriods is for how many sync periods the cache may be behind the last status write
// before the API server is asked which of the two is right.
const stalePeriods = 2

// staleness is how long the cache has been behind an object's last status write.
type staleness struct {
	// since is since when; zero if it is not.
	since time.Time
	// asked is when the API server was last asked.
	asked time.Time
	// isCounted says that the object is one of those that are not decided for that.
	isCounted bool
}

// stale reports whether the cached object is older than the last status write.
// Versions that cannot be compared are taken to be new enough.
func (c *Controller) stale(p *pass, hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	t := p.track
	behind := t.written != "" && isOlder(hpa.ResourceVersion, t.written)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.waits, t.owes = behind, behind && (p.asks || t.owes)
	switch {
	case !behind:
		c.endStaleness(t)
	case t.stale.since.IsZero():
		t.stale.since = p.start
	}
	return behind
}

// isOlder reports whether one resource version is known to be older than the other.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// endStaleness needs the lock.
func (c *Controller) endStaleness(t *track) {
	if t.stale.isCounted {
		c.series.Stale.Dec()
	}
	t.stale = staleness{}
}

// checkVersion asks the API server, where the cache has been behind for long, whether
// resource versions have gone back: those of a restored etcd do. Then what was written
// before says nothing any more, and true is returned. Otherwise the cache is really behind,
// and nothing else in it would be good to decide on.
func (c *Controller) checkVersion(ctx context.Context, p *pass) (wentBack bool) {
	longest := stalePeriods * c.config.SyncPeriod
	c.mu.Lock()
	s := &p.track.stale
	isDue := p.start.Sub(s.since) >= longest && p.start.Sub(s.asked) >= longest
	if isDue {
		if !s.isCounted {
			c.series.Stale.Inc()
		}
		s.asked, s.isCounted = p.start, true
	}
	c.mu.Unlock()
	if !isDue {
		return false
	}
	stored, err := c.readObject(ctx, p)
	if err != nil || stored.UID != p.hpa.UID || !isOlder(stored.ResourceVersion, p.track.written) {
		c.log.V(1).Info("the cache is behind the last status write", "object", nameOf(p.hpa).String(),
			"cached", p.hpa.ResourceVersion, "written", p.track.written)
		return false
	}
	c.series.VersionRegressions.Inc()
	c.mu.Lock()
	isFirst := time.Since(c.wentBack) > longest
	c.wentBack = time.Now()
	c.endStaleness(p.track)
	c.mu.Unlock()
	log := c.log.V(1)
	if isFirst {
		log = c.log
	}
	log.Info("resource versions have gone back, as after etcd was restored; what was written before is no longer waited for",
		"object", nameOf(p.hpa).String(), "stored", stored.ResourceVersion, "written", p.track.written)
	p.track.written = ""
	return true
}

// readObject reads the object from the API server, not from its caches.
func (c *Controller) readObject(ctx context.Context, p *pass) (stored *autoscalingv2.HorizontalPodAutoscaler, err error) {
	c.workers.Yield(func() {
		if err = c.readers.Acquire(ctx, statusKind, p.start, status.DefaultTimeout); err != nil {
			return
		}
		defer c.readers.Release(statusKind)
		stored, err = c.status.Get(ctx, p.hpa)
	})
	return stored, err
}
