package calls

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoSlot says that as many calls about objects of the kind were under way as may be,
// for all the time that there was to wait.
var ErrNoSlot = errors.New("too many calls about objects of this kind are under way")

// Slots bound how many calls are under way at once, for each kind of object that they
// are about: calls about one kind may hang, as with its conversion webhook or its
// aggregated API, and must leave the others theirs. Among the calls that wait, the one
// that was first wanted earliest is the next.
type Slots struct {
	limit int

	// mu guards what follows.
	mu    sync.Mutex
	kinds map[schema.GroupKind]*kindSlots
}

// kindSlots are those of one kind. Those that wait are in the order in which they get a
// slot.
type kindSlots struct {
	held    int
	waiting []*waiter
}

type waiter struct {
	since time.Time
	// granted is closed when the slot is the waiter's.
	granted chan struct{}
}

// NewSlots allows so many calls about each kind.
func NewSlots(limit int) *Slots {
	return &Slots{limit: limit, kinds: map[schema.GroupKind]*kindSlots{}}
}

// TryAcquire takes a slot, unless none is free.
func (s *Slots) TryAcquire(kind schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(kind)
}

// take needs the lock.
func (s *Slots) take(kind schema.GroupKind) bool {
	k, known := s.kinds[kind]
	if !known {
		k = &kindSlots{}
		s.kinds[kind] = k
	}
	if k.held >= s.limit {
		return false
	}
	k.held++
	return true
}

// Acquire waits for a slot so long at most. The call has been wanted since then.
func (s *Slots) Acquire(ctx context.Context, kind schema.GroupKind, since time.Time, longest time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := s.wait(kind, since)
	if w == nil {
		return nil
	}
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	err := ErrNoSlot
	select {
	case <-w.granted:
		return nil
	case <-timeout.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.giveUp(kind, w)
	return err
}

// wait joins those that wait; nil if there is no need to.
func (s *Slots) wait(kind schema.GroupKind, since time.Time) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.take(kind) {
		return nil
	}
	k, w := s.kinds[kind], &waiter{since: since, granted: make(chan struct{})}
	place, _ := slices.BinarySearchFunc(k.waiting, since, func(other *waiter, since time.Time) int {
		// Behind those of the same time.
		if other.since.After(since) {
			return 1
		}
		return -1
	})
	k.waiting = slices.Insert(k.waiting, place, w)
	return w
}

// giveUp ends waiting. A slot that came at the last moment goes to the next.
func (s *Slots) giveUp(kind schema.GroupKind, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if place := slices.Index(k.waiting, w); place >= 0 {
		k.waiting = slices.Delete(k.waiting, place, place+1)
		return
	}
	s.pass(kind, k)
}

// Release gives a slot back.
func (s *Slots) Release(kind schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(kind, s.kinds[kind])
}

// pass gives a slot that is no longer needed to the next, or back. It needs the lock.
func (s *Slots) pass(kind schema.GroupKind, k *kindSlots) {
	if len(k.waiting) > 0 {
		close(k.waiting[0].granted)
		k.waiting = slices.Delete(k.waiting, 0, 1)
		return
	}
	if k.held--; k.held == 0 {
		delete(s.kinds, kind)
	}
}
