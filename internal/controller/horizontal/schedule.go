package horizontal

import (
	"container/heap"
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// schedule says which object is decided next, and when. Each object is decided
// by one worker at a time. What is wanted for an object several times before it is
// decided is one decision.
type schedule struct {
	// mu guards what follows.
	mu      sync.Mutex
	queue   queue
	entries map[types.NamespacedName]*entry
	// taken is when an object was last taken.
	taken time.Time
	// wake holds a token when something is due earlier than before.
	wake chan struct{}
}

// entry is one object's place in the schedule.
type entry struct {
	object types.NamespacedName
	// full is when it is decided with everything asked anew; soon when it is decided
	// on what is known, zero if there is no reason to, and sampled that new samples are
	// among the reasons. While a decision runs they are what was wanted meanwhile.
	full, soon time.Time
	sampled    bool
	// place is where it is in the queue; meaningless while running.
	place   int
	running bool
	// gone says that the object is to be forgotten when the running decision ends.
	gone bool
}

// due is the earlier of both times.
func (e *entry) due() time.Time { return earlier(e.full, e.soon) }

// earlier is the earlier of two times, of which one that is zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// dueItem is an object that is due.
type dueItem struct {
	object types.NamespacedName
	// due is when it was, full when it is, or was, to be decided with everything asked
	// anew.
	due, full time.Time
	// asks says that this is now, sampled that there are new samples.
	asks, sampled bool
}

// trigger is why.
func (t *dueItem) trigger() trigger.Kind {
	switch {
	case t.asks:
		return trigger.Periodic
	case t.sampled:
		return trigger.Samples
	}
	return trigger.Event
}

func newSchedule() *schedule {
	return &schedule{entries: map[types.NamespacedName]*entry{}, wake: make(chan struct{}, 1)}
}

// at makes the object due in full then, or earlier if it is already.
func (s *schedule) at(object types.NamespacedName, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, known := s.entries[object]
	if !known {
		e = &entry{object: object, full: due}
		s.entries[object] = e
		heap.Push(&s.queue, e)
		s.signalFor(e)
		return
	}
	e.gone = false
	s.hasten(e, earlier(e.full, due), e.soon)
}

// soon makes the object, if it is known, due on what is known then, or earlier if
// it is already; because of new samples or something else.
func (s *schedule) soon(object types.NamespacedName, due time.Time, sampled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, known := s.entries[object]; known {
		e.sampled = e.sampled || sampled
		s.hasten(e, e.full, earlier(e.soon, due))
	}
}

// hasten sets times that are not later than before.
func (s *schedule) hasten(e *entry, full, soon time.Time) {
	before := e.due()
	e.full, e.soon = full, soon
	if e.running || !e.due().Before(before) {
		return
	}
	heap.Fix(&s.queue, e.place)
	s.signalFor(e)
}

// next takes the object that is due and marks it running. Otherwise it says how
// long it is until one is; zero if there is none.
func (s *schedule) next(now time.Time) (t dueItem, wait time.Duration, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return dueItem{}, 0, false
	}
	first := s.queue[0]
	if first.due().After(now) {
		return dueItem{}, first.due().Sub(now), false
	}
	heap.Pop(&s.queue)
	s.taken = now
	t = dueItem{object: first.object, due: first.due(), full: first.full, asks: !first.full.After(now), sampled: first.sampled}
	first.running, first.full, first.soon, first.sampled = true, time.Time{}, time.Time{}, false
	return t, 0, true
}

// stalled is for how long an object has been due while none was taken; zero if none is due.
func (s *schedule) stalled(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return 0
	}
	since := s.queue[0].due()
	if s.taken.After(since) {
		since = s.taken
	}
	return max(0, now.Sub(since))
}

// done ends a running decision and says when the next one is to be in full.
func (s *schedule) done(object types.NamespacedName, full time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[object]
	if e.gone {
		delete(s.entries, object)
		return
	}
	e.running, e.full = false, earlier(e.full, full)
	heap.Push(&s.queue, e)
	s.signalFor(e)
}

// forget takes a running object out when its decision ends, unless a new one of
// its name was announced meanwhile.
func (s *schedule) forget(object types.NamespacedName) (gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[object]
	e.gone = e.full.IsZero()
	return e.gone
}

// signalFor wakes whoever waits if this one is the first now.
func (s *schedule) signalFor(e *entry) {
	if s.queue[0] == e {
		s.signal()
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
	if a, b := q[i].due(), q[j].due(); !a.Equal(b) {
		return a.Before(b)
	}
	a, b := q[i].object, q[j].object
	return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name
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
