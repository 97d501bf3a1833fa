package fairqueue

import "maps"

// fewQueues are kept although they are idle: what comes again soon allocates nothing.
const fewQueues = 64

// Keyed has queues by their keys. Those that are idle are forgotten when there are many. The zero value is empty.
type Keyed[K comparable, T any] struct {
	queues map[K]*Queue[T]
	// sweepAt is how many there are when the idle ones are forgotten.
	sweepAt int
}

// Of is the queue of a key, which is made below another one if it is not known. The caller may keep it as long as it is
// not idle.
func (k *Keyed[K, T]) Of(key K, above *Queue[T], limit int) *Queue[T] {
	// The one above an idle queue may have been forgotten.
	if known, ok := k.queues[key]; ok && known.above == above {
		return known
	}
	if k.queues == nil {
		k.queues, k.sweepAt = map[K]*Queue[T]{}, fewQueues
	}
	if len(k.queues) >= k.sweepAt {
		maps.DeleteFunc(k.queues, func(_ K, q *Queue[T]) bool { return q.IsIdle() })
		k.sweepAt = max(fewQueues, 2*len(k.queues))
	}
	q := New(above, limit)
	k.queues[key] = q
	return q
}

// Len is how many queues are known.
func (k *Keyed[K, T]) Len() int { return len(k.queues) }
