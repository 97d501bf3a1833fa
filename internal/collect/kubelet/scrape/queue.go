package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// queue has nodes by the time at which they are due. Its nodes know that they are in it.
type queue struct{ timing.Queue[*entry] }

// due is when the first one is due, in a queue that is not empty.
func (q *queue) due() time.Time { return q.First().due }

// isDue reports whether the first one is due.
func (q *queue) isDue(now time.Time) bool { return q.Len() > 0 && !q.due().After(now) }

// add puts a node that is in no queue into this one.
func (q *queue) add(e *entry) {
	e.queue = q
	q.Push(e)
}

// take takes out the first node of a queue that is not empty.
func (q *queue) take() *entry {
	e := q.Pop()
	e.queue = nil
	return e
}

// leave takes a node out of the queue that it is in.
func (e *entry) leave() {
	e.queue.Remove(e)
	e.queue = nil
}

// Before implements timing.Item.
func (e *entry) Before(other *entry) bool { return e.due.Before(other.due) }

// Place implements timing.Item.
func (e *entry) Place() *int { return &e.place }
