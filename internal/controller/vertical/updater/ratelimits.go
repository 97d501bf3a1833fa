package updater

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// rateLimits bounds evictions and resizes separately. Workers share it.
type rateLimits struct {
	// interval is the longest duration of a pass.
	interval time.Duration

	mu        sync.Mutex
	evictions disruption.Bucket // guarded by mu
	resizes   disruption.Bucket // guarded by mu
}

func newRateLimits(cfg *Config) *rateLimits {
	full := disruption.NewBucket(cfg.EvictionRate, cfg.EvictionBurst)
	return &rateLimits{interval: cfg.Interval, evictions: full, resizes: full}
}

// empty uses up the burst: the previous process may have used it a moment ago.
func (l *rateLimits) empty(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evictions, l.resizes = l.evictions.Empty(now), l.resizes.Empty(now)
}

func (l *rateLimits) left() (evictions, resizes disruption.Bucket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.evictions, l.resizes
}

// wait waits until the rate limit allows the action; false if that is not before the end of the pass.
func (l *rateLimits) wait(ctx context.Context, kind update.Kind) bool {
	deadline, ends := ctx.Deadline()
	if ends {
		deadline = disruption.LastAction(deadline, l.interval)
	}
	at, ok := l.reserve(time.Now(), deadline, kind)
	if !ok || ctx.Err() != nil {
		return false
	}
	return timing.Pause(ctx, time.Until(at)) == nil
}

func (l *rateLimits) reserve(now, deadline time.Time, kind update.Kind) (at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := &l.resizes
	if kind == update.Evict {
		bucket = &l.evictions
	}
	at, ok, *bucket = bucket.Reserve(now, deadline)
	return at, ok
}
