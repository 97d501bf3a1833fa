package calls

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

// ErrNoSlot is returned when as many calls about objects of the kind as may be were running for all the time that there
// was to wait.
var ErrNoSlot = errors.New("too many calls about objects of this kind are under way")

// Slots bound how many calls run at a time, for each kind of object that they are about: calls about one kind may hang,
// as with its conversion webhook or its aggregated API, and must leave the others theirs. Among the calls that wait,
// the one that was first wanted earliest is the next.
type Slots struct {
	limit int

	// mu guards the following.
	mu    sync.Mutex
	kinds fairqueue.Keyed[schema.GroupKind, chan struct{}]
}

// waiter is a call that waits. Its channel is closed when the slot is the waiter's.
type waiter = fairqueue.Item[chan struct{}]

// NewSlots allows so many calls about each kind.
func NewSlots(limit int) *Slots { return &Slots{limit: limit} }

func (s *Slots) kindLocked(kind schema.GroupKind) *fairqueue.Queue[chan struct{}] {
	return s.kinds.Of(kind, nil, s.limit)
}

// TryAcquire takes a slot, unless none is free.
func (s *Slots) TryAcquire(kind schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kindLocked(kind).TryStart()
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
	ctx, cancel := context.WithTimeoutCause(ctx, longest, ErrNoSlot)
	defer cancel()
	select {
	case <-w.Of:
		return nil
	case <-ctx.Done():
		s.giveUp(kind, w)
		return context.Cause(ctx)
	}
}

// wait returns nil if there is a free slot.
func (s *Slots) wait(kind schema.GroupKind, since time.Time) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.kindLocked(kind)
	if queue.TryStart() {
		return nil
	}
	w := &waiter{Of: make(chan struct{})}
	queue.Push(w, since.UnixNano())
	return w
}

// giveUp ends waiting. A slot that came at the last moment goes to the next.
func (s *Slots) giveUp(kind schema.GroupKind, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.Remove() {
		s.releaseLocked(kind)
	}
}

// Release gives a slot back.
func (s *Slots) Release(kind schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(kind)
}

func (s *Slots) releaseLocked(kind schema.GroupKind) {
	queue := s.kindLocked(kind)
	queue.Done()
	if granted, ok := queue.Next(); ok {
		close(granted)
	}
}
