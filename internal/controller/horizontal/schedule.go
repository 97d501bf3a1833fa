package horizontal

import (
	"container/heap"
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// schedule says which object is decided next, and when. Each object is decided
// by one worker at a time.
type schedule struct {
	// mu guards what follows.
	mu      sync.Mutex
	queue   queue
	entries map[types.NamespacedName]*entry
	// wake holds a token when something is due earlier than before.
	wake chan struct{}
}

// entry is one object's place in the schedule.
type entry struct {
	object types.NamespacedName
	due    time.Time
	// place is where it is in the queue; meaningless while running.
	place   int
	running bool
	// again says that the object is to be decided at once when the running
	// decision ends, gone that it is to be forgotten then.
	again, gone bool
}

func newSchedule() *schedule {
	return &schedule{entries: map[types.NamespacedName]*entry{}, wake: make(chan struct{}, 1)}
}

// at makes the object due then, or earlier if it is already.
func (s *schedule) at(object types.NamespacedName, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, known := s.entries[object]
	switch {
	case !known:
		e = &entry{object: object, due: due}
		s.entries[object] = e
		heap.Push(&s.queue, e)
	case e.running:
		e.again, e.gone = true, false
		return
	case due.Before(e.due):
		e.due = due
		heap.Fix(&s.queue, e.place)
	}
	if s.queue[0] == e {
		s.signal()
	}
}

// next takes the object that is due and marks it running. Otherwise it says how
// long it is until one is; zero if there is none.
func (s *schedule) next(now time.Time) (object types.NamespacedName, wait time.Duration, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return types.NamespacedName{}, 0, false
	}
	first := s.queue[0]
	if first.due.After(now) {
		return types.NamespacedName{}, first.due.Sub(now), false
	}
	heap.Pop(&s.queue)
	first.running = true
	return first.object, 0, true
}

// done ends a running decision.
func (s *schedule) done(object types.NamespacedName, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[object]
	if e.gone {
		delete(s.entries, object)
		return
	}
	if e.again {
		due = time.Time{}
	}
	e.running, e.again, e.due = false, false, due
	heap.Push(&s.queue, e)
	if s.queue[0] == e {
		s.signal()
	}
}

// forget takes a running object out when its decision ends.
func (s *schedule) forget(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A recreation that was announced meanwhile wins.
	if e := s.entries[object]; !e.again {
		e.gone = true
	}
}

func (s *schedule) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// following is when an object that is decided now is decided next. Each object
// has a phase of its own within the period, so that objects that came together
// do not stay together; the way into the phase takes steps of at most a period
// and at least half of one.
func following(uid types.UID, now time.Time, period time.Duration) time.Time {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid))
	// The top bits of FNV are its best; 2^31 steps are fine enough.
	phase := time.Duration(float64(hash.Sum64()>>33) / (1 << 31) * float64(period))
	earliest := now.Add(period / 2).Add(-phase)
	aligned := earliest.Truncate(period)
	if aligned.Before(earliest) {
		aligned = aligned.Add(period)
	}
	gap := aligned.Add(phase).Sub(now)
	if gap > period {
		gap /= 2
	}
	return now.Add(gap)
}

// queue is a heap by due time, and by name where that is equal.
type queue []*entry

var _ heap.Interface = (*queue)(nil)

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].object.String() < q[j].object.String()
}

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e, _ := x.(*entry)
	e.place = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
