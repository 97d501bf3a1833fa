package getcache

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

const (
	// maxReads bounds the running reads: a Secret of 1 MiB needs 2.5 MiB while it is decoded. maxReadsEach bounds those of
	// one namespace, so that its objects leave room for others while the API server is slow.
	maxReads, maxReadsEach = 32, 8
	// maxQueued is how long a read waits for its turn. With the rest of the timeout, callers wait no longer than for a
	// read that begins at once.
	maxQueued = 3 * time.Second
)

var errBusy = fmt.Errorf("%d of them are being read, or %d of the namespace: it is read later", maxReads, maxReadsEach)

type queue[V any] = fairqueue.Queue[*read[V]]

// read waits for its turn, or runs.
type read[V any] struct {
	key       Key
	entry     *entry[V]
	namespace *namespace[V]
	at        time.Time
	place     fairqueue.Item[*read[V]]
}

// queueLocked queues the read. It may start at once.
func (c *Cache[V]) queueLocked(r *read[V]) {
	r.entry.reading = make(chan struct{})
	r.place.Of = r
	r.namespace.reads.Push(&r.place, 0)
	c.beginLocked()
	if r.place.IsWaiting() {
		time.AfterFunc(maxQueued, func() { c.giveUp(r) })
	}
}

// beginLocked begins the reads that may, the namespaces in turn.
func (c *Cache[V]) beginLocked() {
	for r, ok := c.reads.Next(); ok; r, ok = c.reads.Next() {
		go c.read(r)
	}
}

// giveUp ends a read that is still queued: the running ones may last until their timeout. An object that is still
// needed is requested again.
func (c *Cache[V]) giveUp(r *read[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.place.Remove() {
		r.entry.end(time.Now(), errBusy)
	}
}

// read does not use the context of its first caller: others wait for it, too.
func (c *Cache[V]) read(r *read[V]) {
	ctx, cancel := context.WithDeadline(context.Background(), r.at.Add(timeout))
	defer cancel()
	began := time.Now()
	value, err := c.config.Get(ctx, r.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && !c.hasRoomLocked(r.namespace, r.entry, value) {
		err = errLarge
	}
	if err == nil {
		r.entry.value, r.entry.hasValue, r.entry.confirmed = value, true, began
	}
	r.entry.end(time.Now(), err)
	r.namespace.reads.Done()
	c.beginLocked()
}
