// Package schedule has the queue of HPAs: which one is decided next, and when.
package schedule

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// Queue orders HPAs by when they are due. Each HPA is decided by one worker at a time. All additions of an HPA before
// its decision lead to one decision.
type Queue struct {
	// wake has an element after an item became the first one due.
	wake chan struct{}

	// mu guards the following.
	mu      sync.Mutex
	due     timing.Queue[*entry]
	entries map[observe.Key]*entry
	// taken is when an item was last taken.
	taken time.Time
}

// entry is one HPA's place in the queue.
type entry struct {
	key observe.Key
	// full is when the HPA is due with all metrics read again; early when it is due on the known values, and sampled when
	// it is because of new samples; zero without a reason. During a decision they collect the additions meanwhile.
	full, early, sampled time.Time
	// place is its index in the queue; meaningless while running.
	place   int
	running bool
	// gone is set if the entry is removed when the running decision ends.
	gone bool
}

func (e *entry) due() time.Time { return Earlier(e.full, e.early) }

// isSampled reports whether there are new samples. They arrive before the decision on them is due, which waits a moment
// for others; but a decision on samples that is due in minutes does not make an earlier one a decision on samples.
func (e *entry) isSampled(now time.Time) bool {
	return !e.sampled.IsZero() && !e.sampled.After(now.Add(trigger.EventGap))
}

// Before implements timing.Item: by due time, then by name.
func (e *entry) Before(other *entry) bool {
	if a, b := e.due(), other.due(); !a.Equal(b) {
		return a.Before(b)
	}
	a, b := e.key, other.key
	return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name
}

// Place implements timing.Item.
func (e *entry) Place() *int { return &e.place }

// Earlier returns the earlier of two times; a zero time does not count.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Item is an HPA that is due.
type Item struct {
	Key observe.Key
	// Due is when it was due, Full when it is, or was, due with all metrics read again.
	Due, Full time.Time
	// IsFull is set if Full has come, IsSampled if there are new samples.
	IsFull, IsSampled bool
}

// Trigger returns the cause of the decision.
func (i *Item) Trigger() trigger.Kind {
	switch {
	case i.IsFull:
		return trigger.Periodic
	case i.IsSampled:
		return trigger.Samples
	}
	return trigger.Event
}

// New returns an empty queue.
func New() *Queue {
	return &Queue{entries: map[observe.Key]*entry{}, wake: make(chan struct{}, 1)}
}

// AddFull makes the HPA due then with all metrics read again, unless it is due earlier.
func (q *Queue) AddFull(key observe.Key, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.entries[key]
	if !ok {
		e = &entry{key: key, full: due}
		q.entries[key] = e
		q.due.Push(e)
		q.wakeForLocked(e)
		return
	}
	e.gone = false
	q.advanceLocked(e, Earlier(e.full, due), e.early)
}

// AddEarly makes the HPA, if the queue has it, due then on the known values, unless it is due earlier; because of new
// samples or another event.
func (q *Queue) AddEarly(key observe.Key, due time.Time, sampled bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e, ok := q.entries[key]; ok {
		if sampled {
			e.sampled = Earlier(e.sampled, due)
		}
		q.advanceLocked(e, e.full, Earlier(e.early, due))
	}
}

// advanceLocked sets times that are no later than before.
func (q *Queue) advanceLocked(e *entry, full, early time.Time) {
	before := e.due()
	e.full, e.early = full, early
	if e.running || !e.due().Before(before) {
		return
	}
	q.due.Fix(e)
	q.wakeForLocked(e)
}

// Wait blocks until an item is due and takes it; false when done is closed. The caller provides a timer for reuse by
// its next calls.
func (q *Queue) Wait(done <-chan struct{}, timer *time.Timer) (Item, bool) {
	for {
		select {
		case <-done:
			return Item{}, false
		default:
		}
		item, pause, isDue := q.Take(time.Now())
		if isDue {
			return item, true
		}
		var expired <-chan time.Time
		if pause > 0 {
			timer.Reset(pause)
			expired = timer.C
		}
		select {
		case <-expired:
		case <-q.wake:
		case <-done:
		}
	}
}

// Take takes the item that is due and marks it running. Otherwise it returns the time until one is; zero if the queue
// is empty.
func (q *Queue) Take(now time.Time) (item Item, wait time.Duration, isDue bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.due.Len() == 0 {
		return Item{}, 0, false
	}
	first := q.due.First()
	if first.due().After(now) {
		return Item{}, first.due().Sub(now), false
	}
	q.due.Pop()
	q.taken = now
	item = Item{
		Key: first.key, Due: first.due(), Full: first.full,
		IsFull: !first.full.After(now), IsSampled: first.isSampled(now),
	}
	first.running, first.full, first.early = true, time.Time{}, time.Time{}
	if first.sampled.After(now.Add(trigger.EventGap)) {
		// Samples for a later decision remain due: the decision on an event lowers nothing.
		first.early = first.sampled
	} else {
		first.sampled = time.Time{}
	}
	return item, 0, true
}

// Stalled returns for how long an item has been due while none was taken; zero if none is due.
func (q *Queue) Stalled(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.due.Len() == 0 {
		return 0
	}
	since := q.due.First().due()
	if q.taken.After(since) {
		since = q.taken
	}
	return max(0, now.Sub(since))
}

// Done ends a running decision and sets when the next full one is due.
func (q *Queue) Done(key observe.Key, full time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	if e.gone {
		delete(q.entries, key)
		return
	}
	e.running, e.full = false, Earlier(e.full, full)
	q.due.Push(e)
	q.wakeForLocked(e)
}

// Hold keeps workers from taking an HPA until Release; false if one has it. The HPA's due times do not change.
func (q *Queue) Hold(key observe.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.entries[key]
	if !ok || e.running {
		return false
	}
	q.due.Remove(e)
	e.running = true
	return true
}

// Release ends Hold.
func (q *Queue) Release(key observe.Key) { q.Done(key, time.Time{}) }

// Forget removes a running item when its decision ends, unless a new HPA of the same name has been added.
func (q *Queue) Forget(key observe.Key) (gone bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	e.gone = e.full.IsZero()
	return e.gone
}

// wakeForLocked ends Wait if this entry is now the first.
func (q *Queue) wakeForLocked(e *entry) {
	if q.due.First() != e {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Following returns when an HPA that is decided now is decided next. Each HPA has its own phase within the period, so
// that HPAs that were created together spread out. A step towards the phase is half a period to one period.
func Following(uid types.UID, now time.Time, period time.Duration) time.Time {
	phase := timing.Phase(string(uid), period)
	gap := timing.Next(now.Add(period/2), phase, period).Sub(now)
	if gap > period {
		gap /= 2
	}
	return now.Add(gap)
}
