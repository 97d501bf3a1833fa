package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
)

const (
	// maxWritesPerSecond bounds the writes of all autoscalers; 10,000 of them need 2.8 a second.
	maxWritesPerSecond = 5
	// writers is the number of concurrent writes.
	writers = 4
	// busyPause is the time until the next attempt after ErrBusy.
	busyPause = time.Second
	// retryPause is the time until the next attempt after a failure that may pass.
	retryPause = 5 * time.Minute

	// The limits at the end of the process. The next leader starts only after that, so they allow a faster and shorter
	// burst.
	flushTimeout            = 5 * time.Second
	maxFlushWritesPerSecond = 200
	flushWriters            = 16
	// youngestFlushed is the age from which a checkpoint is written again at the end.
	youngestFlushed = 5 * time.Minute
)

// saveDue writes each checkpoint when it is due, until ctx ends.
func (k *Keeper) saveDue(ctx context.Context) {
	limiter := rate.NewLimiter(maxWritesPerSecond, 1)
	free := calls.NewWorkers(writers)
	var writing sync.WaitGroup
	defer writing.Wait()
	// Take an entry only when it can be written, so that it is encoded as late as possible.
	for limiter.Wait(ctx) == nil && free.Acquire(ctx) {
		e := k.await(ctx)
		if e == nil {
			return
		}
		writing.Go(func() {
			defer free.Release()
			k.save(ctx, e)
		})
	}
}

// await removes the next entry from the queue once it is due; nil when ctx ends.
func (k *Keeper) await(ctx context.Context) *entry {
	for {
		e, wait := k.take(time.Now())
		if e != nil {
			return e
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-k.wake:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// take removes the entry that is due, or returns the time until one is.
func (k *Keeper) take(now time.Time) (due *entry, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.due.Len() == 0 {
		return nil, savePeriod
	}
	if wait := k.due.First().due.Sub(now); wait > 0 {
		return nil, wait
	}
	e := k.due.Pop()
	e.isWriting = true
	return e, 0
}

// save writes an entry and queues it again.
func (k *Keeper) save(ctx context.Context, e *entry) {
	err := k.write(ctx, e, isRepeated)
	now := time.Now()
	// A write that was late is not followed by another one within half a period.
	next := e.next(now.Add(savePeriod / 2))
	switch {
	case errors.Is(err, ErrBusy):
		next = now.Add(busyPause)
	case err != nil && !isRefusal(err):
		next = now.Add(retryPause)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !e.isGone {
		e.due = next
		k.pushLocked(e)
	}
}

// isRefusal reports whether the same write would fail again in some minutes.
func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err)
}

// flush writes the unsaved checkpoints at the end of the process, those first that were never saved or were saved
// longest ago, while the process leads and time is left.
func (k *Keeper) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	entries := k.takeAll()
	if len(entries) == 0 || !k.config.MayFlush() {
		return
	}
	limiter := rate.NewLimiter(maxFlushWritesPerSecond, 1)
	var writing errgroup.Group
	writing.SetLimit(flushWriters)
	var written atomic.Int64
	for _, e := range entries {
		if limiter.Wait(ctx) != nil {
			break
		}
		writing.Go(func() error {
			if k.config.MayFlush() && k.write(ctx, e, isLast) == nil {
				written.Add(1)
			}
			return nil
		})
	}
	_ = writing.Wait() // write counts each error
	k.config.Log.Info("checkpoints of autoscalers written at the end", "written", written.Load(), "of", len(entries))
}

// takeAll removes all entries, and returns those to flush in order.
func (k *Keeper) takeAll() []*entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.SortedFunc(maps.Values(k.entries), func(a, b *entry) int {
		return cmp.Or(a.saved.Compare(b.saved), cmp.Compare(a.key.Namespace, b.key.Namespace),
			cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Kind, b.key.Kind))
	})
	now := time.Now()
	var old []*entry
	for _, e := range all {
		if k.forgetLocked(e.key); now.Sub(e.saved) >= youngestFlushed {
			old = append(old, e)
		}
	}
	return old
}
