package timing

import "container/heap"

// Item is an element of a Queue.
type Item[E any] interface {
	comparable
	// Before reports whether the item is due before the other.
	Before(other E) bool
	// Place is where the queue notes its index of the item.
	Place() *int
}

// Queue has items in the order in which they are due. An item is in one queue at a time. The zero
// value is an empty queue.
type Queue[E Item[E]] struct{ items items[E] }

// Len is how many items there are.
func (q *Queue[E]) Len() int { return len(q.items) }

// First is the item that is due first, of a queue that is not empty.
func (q *Queue[E]) First() E { return q.items[0] }

// Push adds an item.
func (q *Queue[E]) Push(e E) { heap.Push(&q.items, e) }

// Pop takes the first item out of a queue that is not empty.
func (q *Queue[E]) Pop() E {
	first := q.items[0]
	heap.Pop(&q.items)
	return first
}

// Remove takes out an item that is in the queue.
func (q *Queue[E]) Remove(e E) { heap.Remove(&q.items, *e.Place()) }

// Fix puts an item that is in the queue where it belongs after its time has changed.
func (q *Queue[E]) Fix(e E) { heap.Fix(&q.items, *e.Place()) }

// items are a heap.
type items[E Item[E]] []E

var _ heap.Interface = (*items[none])(nil)

// none is an item that there is none of.
type none struct{}

func (none) Before(none) bool { return false }
func (none) Place() *int      { return nil }

// Len implements heap.Interface.
func (h items[E]) Len() int { return len(h) }

// Less implements heap.Interface.
func (h items[E]) Less(i, j int) bool { return h[i].Before(h[j]) }

// Swap implements heap.Interface.
func (h items[E]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].Place(), *h[j].Place() = i, j
}

// Push implements heap.Interface.
func (h *items[E]) Push(x any) {
	e, _ := x.(E)
	*e.Place() = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *items[E]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	return e
}
