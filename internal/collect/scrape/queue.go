package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// queue has targets by the time at which they are due. Each target in it points to it.
type queue[T Target] struct{ timing.Queue[*entry[T]] }

// due returns when the first target is due, in a queue that is not empty.
func (q *queue[T]) due() time.Time { return q.First().due }

// isDue reports whether the first target is due.
func (q *queue[T]) isDue(now time.Time) bool { return q.Len() > 0 && !q.due().After(now) }

func (q *queue[T]) add(e *entry[T]) {
	e.queue = q
	q.Push(e)
}

// take removes the first target of a queue that is not empty.
func (q *queue[T]) take() *entry[T] {
	e := q.Pop()
	e.queue = nil
	return e
}

// leave removes a target from its queue.
func (e *entry[T]) leave() {
	e.queue.Remove(e)
	e.queue = nil
}

// Before implements timing.Item.
func (e *entry[T]) Before(other *entry[T]) bool { return e.due.Before(other.due) }

// Place implements timing.Item.
func (e *entry[T]) Place() *int { return &e.place }
