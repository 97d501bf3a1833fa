package timing

// Item is an element of a Queue.
type Item[E any] interface {
	comparable
	// Before reports whether the item is due before the other.
	Before(other E) bool
	// Place returns the field in which the queue keeps the item's index.
	Place() *int
}

// Queue has items in the order in which they are due. An item is in one queue at a time. The zero
// value is an empty queue.
//
// It is a binary heap of its own: with container/heap each comparison is two calls that cannot be
// inlined, which made the choice of the next node a fifth slower.
type Queue[E Item[E]] struct{ items []E }

// Len is how many items there are.
func (q *Queue[E]) Len() int { return len(q.items) }

// First is the item that is due first, of a queue that is not empty.
func (q *Queue[E]) First() E { return q.items[0] }

// Push adds an item.
func (q *Queue[E]) Push(e E) {
	q.items = append(q.items, e)
	q.up(len(q.items)-1, e)
}

// Pop takes the first item out of a queue that is not empty.
func (q *Queue[E]) Pop() E {
	first := q.items[0]
	q.Remove(first)
	return first
}

// Remove takes out an item that is in the queue.
func (q *Queue[E]) Remove(e E) {
	at, last := *e.Place(), len(q.items)-1
	moved := q.items[last]
	clear(q.items[last:])
	q.items = q.items[:last]
	if at < last {
		q.fix(at, moved)
	}
}

// Fix puts an item that is in the queue where it belongs after its time has changed.
func (q *Queue[E]) Fix(e E) { q.fix(*e.Place(), e) }

// fix puts an item in at a free index, or where it belongs from there.
func (q *Queue[E]) fix(at int, e E) {
	if at > 0 && e.Before(q.items[parent(at)]) {
		q.up(at, e)
		return
	}
	q.down(at, e)
}

// up puts an item in at a free index or at an ancestor's.
func (q *Queue[E]) up(at int, e E) {
	for at > 0 && e.Before(q.items[parent(at)]) {
		q.set(at, q.items[parent(at)])
		at = parent(at)
	}
	q.set(at, e)
}

// down puts an item in at a free index or at a descendant's.
func (q *Queue[E]) down(at int, e E) {
	for {
		child := 2*at + 1
		if right := child + 1; right < len(q.items) && q.items[right].Before(q.items[child]) {
			child = right
		}
		if child >= len(q.items) || !q.items[child].Before(e) {
			q.set(at, e)
			return
		}
		q.set(at, q.items[child])
		at = child
	}
}

func (q *Queue[E]) set(at int, e E) { q.items[at], *e.Place() = e, at }

func parent(at int) int { return (at - 1) / 2 }
