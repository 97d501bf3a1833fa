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
	// writers is how many checkpoints are written at a time.
	writers = 4
	// busyPause is when an autoscaler that is being decided is encoded.
	busyPause = time.Second
	// retryPause is when a write is repeated that failed for a reason which may pass.
	retryPause = 5 * time.Minute

	// The same at the end of the process. The next leader begins only when that has ended, so it is short.
	flushTimeout            = 5 * time.Second
	maxFlushWritesPerSecond = 200
	flushWriters            = 16
	// youngestFlushed is how old what was saved is that is saved again then.
	youngestFlushed = 5 * time.Minute
)

// saveDue writes each checkpoint when it is due, until ctx ends.
func (k *Keeper) saveDue(ctx context.Context) {
	limiter := rate.NewLimiter(maxWritesPerSecond, 1)
	free := calls.NewWorkers(writers)
	var writing sync.WaitGroup
	defer writing.Wait()
	// An entry is taken only when it can be written: what waits is encoded late.
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

// await takes the entry that is due next, as soon as it is; nil when ctx ends.
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

// take takes the entry that is due, or says how long it is until one is.
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

// save writes an entry that was taken, and puts it back for the next time.
func (k *Keeper) save(ctx context.Context, e *entry) {
	err := k.write(ctx, e, isRepeated)
	now := time.Now()
	// Half a period after a write that was late there is no other.
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

// flush writes what is not saved, at the end of the process: first what was never saved, then what was saved longest
// ago, as long as the process leads and time is left.
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
	_ = writing.Wait() // each has counted its error
	k.config.Log.Info("checkpoints of autoscalers written at the end", "written", written.Load(), "of", len(entries))
}

// takeAll ends the writing of all entries, and returns them in the order in which they are flushed.
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
