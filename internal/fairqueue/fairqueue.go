// Package fairqueue has work that waits until less of it is running.
//
// A Queue bounds how much of it runs. Queues below it, such as one for each namespace, take turns and have bounds of
// their own: however much waits in one, the next item of another waits for one turn. Within a queue, items are in
// order of their rank, such as how long they have been wanted.
//
// A Queue has no lock, clock or goroutine. Its owner guards it, together with all above and below it, starts what Next
// returns, and calls Done when that has ended.
package fairqueue

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// Queue has items, or queues below it that do.
type Queue[T any] struct {
	// Limit bounds how many items run at a time, of the queue and of those below.
	Limit int
	// KeepsRoom has each queue below run at most as many items as half of the places that are free, and one at least
	// while there are any. So a few queues leave room for others.
	KeepsRoom bool

	above *Queue[T]
	// waiting and running count the items of the queue and of those below.
	waiting, running int
	// turns are the queues below in which items wait. The first one has the next turn.
	turns []*Queue[T]
	// items has the queued items, and pushed counts all that were added.
	items  timing.Queue[*Item[T]]
	pushed uint64
}

// Item is a place in a queue for Of. Its owner keeps it; it may be pushed again once it does not wait.
type Item[T any] struct {
	Of T

	// queue is nil while the item does not wait.
	queue  *Queue[T]
	rank   int64
	number uint64
	place  int
}

// New makes a queue below another one, which is nil for the topmost. It is in no list until an item waits in it.
func New[T any](above *Queue[T], limit int) *Queue[T] { return &Queue[T]{Limit: limit, above: above} }

// Waiting is how many items wait, here and below.
func (q *Queue[T]) Waiting() int { return q.waiting }

// Running is how many items run, here and below.
func (q *Queue[T]) Running() int { return q.running }

// IsIdle reports whether nothing waits and nothing runs.
func (q *Queue[T]) IsIdle() bool { return q.waiting == 0 && q.running == 0 }

// Push adds an item that does not wait. Items of a lower rank are before it, and those of the same rank that were
// pushed earlier.
func (q *Queue[T]) Push(i *Item[T], rank int64) {
	q.pushed++
	i.queue, i.rank, i.number = q, rank, q.pushed
	q.items.Push(i)
	q.addWaiting(1)
}

// IsWaiting reports whether the item is in a queue and does not run.
func (i *Item[T]) IsWaiting() bool { return i.queue != nil }

// Remove takes the item out of its queue. It returns false if it does not wait, or not any more.
func (i *Item[T]) Remove() bool {
	q := i.queue
	if q == nil {
		return false
	}
	q.items.Remove(i)
	i.queue = nil
	q.addWaiting(-1)
	return true
}

// Next returns the item that is to run now, and counts it as running; false if there is none or no place for it. The
// queues that it comes from have their next turns after the others.
func (q *Queue[T]) Next() (of T, ok bool) {
	if q.waiting == 0 || !q.hasRoom() {
		return of, false
	}
	i := q.take()
	if i == nil {
		return of, false
	}
	return i.Of, true
}

// take takes out the next item. There is room in the queue and above.
func (q *Queue[T]) take() *Item[T] {
	if q.items.Len() > 0 {
		i := q.items.First()
		q.addRunning(1)
		i.Remove()
		return i
	}
	for n, below := range q.turns {
		if below.running >= q.limitOf(below) {
			continue
		}
		i := below.take()
		if i == nil {
			continue
		}
		if below.waiting > 0 {
			copy(q.turns[n:], q.turns[n+1:])
			q.turns[len(q.turns)-1] = below
		}
		return i
	}
	return nil
}

// limitOf is how many items may run in a queue below.
func (q *Queue[T]) limitOf(below *Queue[T]) int {
	if q.KeepsRoom {
		return min(below.Limit, max(1, (q.Limit-q.running)/2))
	}
	return below.Limit
}

// hasRoom reports whether one more item may run here and above.
func (q *Queue[T]) hasRoom() bool {
	for at := q; at != nil; at = at.above {
		limit := at.Limit
		if at.above != nil {
			limit = at.above.limitOf(at)
		}
		if at.running >= limit {
			return false
		}
	}
	return true
}

// TryStart counts an item as running that was not pushed, if there is a place for it. It does not look for those that
// wait.
func (q *Queue[T]) TryStart() bool {
	if !q.hasRoom() {
		return false
	}
	q.addRunning(1)
	return true
}

// Done counts an item as no longer running. It is called on the queue that the item was pushed to, or started in.
func (q *Queue[T]) Done() { q.addRunning(-1) }

// Drain takes out the items that wait in the queue itself, the next one first.
func (q *Queue[T]) Drain() []T {
	drained := make([]T, 0, q.items.Len())
	for q.items.Len() > 0 {
		i := q.items.First()
		i.Remove()
		drained = append(drained, i.Of)
	}
	return drained
}

// MoveTo puts the queue below another one, with all that waits and runs. Its turn comes after the others there.
func (q *Queue[T]) MoveTo(above *Queue[T]) {
	if q.above == above {
		return
	}
	waiting, running := q.waiting, q.running
	q.addWaiting(-waiting)
	q.addRunning(-running)
	q.above = above
	q.addWaiting(waiting)
	q.addRunning(running)
}

func (q *Queue[T]) addRunning(n int) {
	for at := q; at != nil; at = at.above {
		at.running += n
	}
}

// addWaiting counts items, and gives the queues turns that have items now, and no others.
func (q *Queue[T]) addWaiting(n int) {
	for at := q; at != nil; at = at.above {
		before := at.waiting
		at.waiting += n
		switch {
		case at.above == nil || (before == 0) == (at.waiting == 0):
		case before == 0:
			at.above.turns = append(at.above.turns, at)
		default:
			place := slices.Index(at.above.turns, at)
			at.above.turns = slices.Delete(at.above.turns, place, place+1)
		}
	}
}

// Before implements timing.Item.
func (i *Item[T]) Before(other *Item[T]) bool {
	if i.rank != other.rank {
		return i.rank < other.rank
	}
	return i.number < other.number
}

// Place implements timing.Item.
func (i *Item[T]) Place() *int { return &i.place }
