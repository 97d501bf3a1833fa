package calls

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

// ErrNoSlot is returned if no slot for the kind became free in time.
var ErrNoSlot = errors.New("too many calls about objects of this kind are in progress")

// Slots bounds the concurrent calls for each kind of object that they concern: calls about one kind may hang, as with
// its conversion webhook or its aggregated API, and must not take the slots of other kinds. The waiting call with the
// earliest since is next.
type Slots struct {
	limit int

	// mu guards the following.
	mu    sync.Mutex
	kinds fairqueue.Keyed[schema.GroupKind, chan struct{}]
}

// waiter is a call that waits. Its channel is closed when it gets a slot.
type waiter = fairqueue.Item[chan struct{}]

// NewSlots allows limit calls about each kind.
func NewSlots(limit int) *Slots { return &Slots{limit: limit} }

func (s *Slots) kindLocked(kind schema.GroupKind) *fairqueue.Queue[chan struct{}] {
	return s.kinds.Of(kind, nil, s.limit)
}

// TryAcquire takes a slot if one is free.
func (s *Slots) TryAcquire(kind schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kindLocked(kind).TryStart()
}

// Acquire waits for a slot, for no more than longest. A smaller since goes first.
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

// giveUp stops waiting. A slot granted at the last moment goes to the next waiter.
func (s *Slots) giveUp(kind schema.GroupKind, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.Remove() {
		s.releaseLocked(kind)
	}
}

// Release returns a slot.
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
