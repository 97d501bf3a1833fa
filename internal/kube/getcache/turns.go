package getcache

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// maxReads bounds the reads that are under way: a Secret of 1 MiB needs 2.5 MiB while it is decoded. maxReadsEach
	// bounds those of one namespace, so that the objects of one leave room for others while the API server is slow.
	maxReads, maxReadsEach = 32, 8
	// maxQueued is how long a read waits for its turn. With the rest of the timeout, callers wait no longer than for
	// a read that begins at once. It is checked so often.
	maxQueued, checkQueuedEvery = 3 * time.Second, 500 * time.Millisecond
)

var errBusy = fmt.Errorf("%d of them are being read, or %d of the namespace: it is read later", maxReads, maxReadsEach)

// queued is a read that waits for its turn.
type queued[V any] struct {
	key   Key
	entry *entry[V]
	at    time.Time
}

// turns are whose turn it is to read. The lock of the Cache guards them.
type turns[V any] struct {
	underWay int
	// waiting are the namespaces with reads that wait: the first one has the next turn.
	waiting []*namespace[V]
	// isChecked reports that a timer will check how long they wait.
	isChecked bool
}

// queue makes the read wait for its turn, which may be at once. It needs the lock.
func (c *Cache[V]) queue(n *namespace[V], q queued[V]) {
	q.entry.reading = make(chan struct{})
	n.queue = append(n.queue, q)
	if len(n.queue) == 1 {
		c.turns.waiting = append(c.turns.waiting, n)
	}
	c.begin(q.at)
}

// begin begins the reads that may, the namespaces in turn. It needs the lock.
func (c *Cache[V]) begin(now time.Time) {
	t := &c.turns
	// At most maxReads/maxReadsEach namespaces are passed over before one may read.
	for passed := 0; t.underWay < maxReads && passed < len(t.waiting); {
		n := t.waiting[0]
		t.waiting = t.waiting[1:]
		n.failLate(now)
		if len(n.queue) == 0 {
			continue
		}
		if passed++; n.underWay < maxReadsEach {
			passed = 0
			t.underWay++
			n.underWay++
			go c.read(n, n.queue[0])
			n.queue = slices.Delete(n.queue, 0, 1)
		}
		if len(n.queue) > 0 {
			t.waiting = append(t.waiting, n)
		}
	}
	if len(t.waiting) > 0 && !t.isChecked {
		t.isChecked = true
		time.AfterFunc(checkQueuedEvery, c.checkQueued)
	}
}

// checkQueued ends what waits for too long: the reads that are under way may last until their timeout.
func (c *Cache[V]) checkQueued() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.turns.isChecked = false
	c.turns.waiting = slices.DeleteFunc(c.turns.waiting, func(n *namespace[V]) bool {
		n.failLate(now)
		return len(n.queue) == 0
	})
	c.begin(now)
}

// failLate ends the reads that waited for too long: what is needed still is asked for again. It needs the lock.
func (n *namespace[V]) failLate(now time.Time) {
	late := 0
	for late < len(n.queue) && now.Sub(n.queue[late].at) >= maxQueued {
		n.queue[late].entry.end(now, errBusy)
		late++
	}
	n.queue = slices.Delete(n.queue, 0, late)
}

// read is not bound to the context of the first that waits: others wait, too.
func (c *Cache[V]) read(n *namespace[V], q queued[V]) {
	ctx, cancel := context.WithDeadline(context.Background(), q.at.Add(timeout))
	defer cancel()
	began := time.Now()
	value, err := c.config.Get(ctx, q.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if err == nil && !c.hasRoom(n, q.entry, value) {
		err = errLarge
	}
	if err == nil {
		q.entry.value, q.entry.hasValue, q.entry.confirmed = value, true, began
	}
	q.entry.end(now, err)
	c.turns.underWay--
	n.underWay--
	c.begin(now)
}
