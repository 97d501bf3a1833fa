package metricsapi

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// slowAfter is how long a call takes at least before it is slow, and slowFactor how
	// many times as long as the answered calls of its API take on average.
	slowAfter  = 250 * time.Millisecond
	slowFactor = 4
	// slowShare is the part of the slots that slow calls may have: one in so many.
	slowShare = 4
	// averageOver is over about how many answered calls their average goes.
	averageOver = 16
	// maxWaiting bounds the calls that wait for a slot of one API.
	maxWaiting = 100_000
	// maxSlow bounds the slow calls that are remembered, slowMemory for how long.
	maxSlow    = 10_000
	slowMemory = 10 * time.Minute
)

// ErrQueueFull says that a call was not made: too many wait already.
var ErrQueueFull = errors.New("too many calls wait for the metrics API")

// errPreempted is why a call is cancelled that is to be made again as a slow one.
var errPreempted = errors.New("the call takes far longer than those that wait for its slot")

// slots bound the calls to one metrics API that are under way. Those who wait for one
// take turns: namespaces, in each its objects, and the calls of an object in order.
//
// Calls that were slow the last time get a quarter of the slots at most. One that is
// slow for the first time, while that quarter is taken and others wait, is cancelled
// and made again as a slow one, with its whole timeout. Its object does not learn of it.
type slots struct {
	timeout time.Duration
	load    *load
	// seed is of the hashes of calls.
	seed maphash.Seed

	// mu guards what follows.
	mu             sync.Mutex
	free, freeSlow int
	regular, slow  turns
	// preempted calls are being cancelled for those that wait.
	preempted int
	// slowSince holds the calls that were slow the last time, by their hashes: the texts
	// may be of any length. Two calls with one hash are slow together, which is harmless.
	slowSince map[uint64]time.Time
	// average is how long calls take that are answered; 0 before the first.
	average time.Duration
}

// slot is the place of one call: first in the queue, then under way.
type slot struct {
	object types.NamespacedName
	// call is the hash of what is asked for.
	call                uint64
	isSlow, isPreempted bool
	// ready is closed when the call may begin.
	ready         chan struct{}
	queued, began time.Time
	// turn is where it waits; nil when it does not.
	turn *turn
	// cancel ends the call; watch looks whether it is slow, nil if that is known.
	cancel context.CancelCauseFunc
	watch  *time.Timer
}

func newSlots(n int, timeout time.Duration, load *load) *slots {
	return &slots{
		timeout: timeout, load: load, free: n, freeSlow: max(1, n/slowShare), slowSince: map[uint64]time.Time{},
		seed: maphash.MakeSeed(),
	}
}

// run waits for a slot and makes the call. The timeout begins with the slot: a call does
// not fail because many wait.
func (s *slots) run(ctx context.Context, call string, do func(context.Context) error) error {
	for {
		held, err := s.acquire(ctx, call)
		if err != nil {
			return err
		}
		if err = s.runIn(ctx, held, do); !errors.Is(err, errPreempted) {
			return err
		}
	}
}

func (s *slots) runIn(ctx context.Context, held *slot, do func(context.Context) error) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timed, stop := context.WithTimeout(own, s.timeout)
	defer stop()
	// Also a panic gives the slot back.
	isAnswered := false
	defer func() { s.release(held, isAnswered) }()
	s.begin(held, cancel)
	CallOf(ctx).Began = held.began
	err := do(timed)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(own), errPreempted):
		return errPreempted
	case timed.Err() != nil:
		return context.DeadlineExceeded
	}
	isAnswered = true
	return err
}

// acquire waits for a slot. Whoever gives up waiting leaves the queue at once.
func (s *slots) acquire(ctx context.Context, call string) (*slot, error) {
	held, err := s.enqueue(CallOf(ctx).Object, call)
	if err != nil {
		return nil, err
	}
	select {
	case <-held.ready:
		return held, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	isWaiting := held.turn != nil
	if isWaiting {
		held.turn.leave()
		held.turn = nil
		s.load.waiting.Set(float64(s.waiting()))
	}
	s.mu.Unlock()
	if !isWaiting {
		// It was granted at the same moment.
		s.release(held, false)
	}
	return nil, ctx.Err()
}

func (s *slots) enqueue(object types.NamespacedName, call string) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting() >= maxWaiting {
		return nil, ErrQueueFull
	}
	held := &slot{object: object, call: maphash.String(s.seed, call), ready: make(chan struct{}), queued: time.Now()}
	queue := &s.regular
	if _, held.isSlow = s.slowSince[held.call]; held.isSlow {
		queue = &s.slow
	}
	held.turn = queue.add(held)
	s.grant()
	return held, nil
}

// waiting is how many wait. It needs the lock.
func (s *slots) waiting() int { return s.regular.waiting + s.slow.waiting }

// grant lets those begin whose turn it is. It needs the lock.
func (s *slots) grant() {
	defer func() { s.load.waiting.Set(float64(s.waiting())) }()
	for s.free > 0 {
		var held *slot
		if s.freeSlow > 0 {
			held = s.slow.next()
		}
		if held != nil {
			s.freeSlow--
		} else if held = s.regular.next(); held == nil {
			return
		}
		s.free--
		held.turn, held.began = nil, time.Now()
		s.load.note(held.began, held.began.Sub(held.queued), held.isSlow)
		close(held.ready)
	}
}

// begin watches a call for being slow.
func (s *slots) begin(held *slot, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held.cancel = cancel
	if !held.isSlow {
		held.watch = time.AfterFunc(slowAfter, func() { s.look(held) })
	}
}

// look looks at a call that has been under way for a while. A slow one takes one of the
// slow calls' slots; if there is none, it is cancelled as soon as others wait.
func (s *slots) look(held *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch isSlow := s.average > 0 && time.Since(held.began) >= s.patience(); {
	case held.watch == nil:
		return // it has ended
	case isSlow && s.freeSlow > 0:
		held.isSlow = true
		s.freeSlow--
		return
	case isSlow && s.preempted < s.regular.waiting:
		s.remember(held.call)
		s.preempted++
		held.isPreempted = true
		held.cancel(errPreempted)
		return
	}
	held.watch.Reset(slowAfter / 4)
}

// patience is how long a call may take before it is slow. It needs the lock.
func (s *slots) patience() time.Duration { return max(slowAfter, slowFactor*s.average) }

// release gives a slot back.
func (s *slots) release(held *slot, isAnswered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held.watch != nil {
		held.watch.Stop()
		held.watch = nil
	}
	s.free++
	if held.isSlow {
		s.freeSlow++
	}
	if held.isPreempted {
		s.preempted--
	}
	s.learn(held, isAnswered)
	s.grant()
}

// learn takes in how long a call took. It needs the lock.
func (s *slots) learn(held *slot, isAnswered bool) {
	took := time.Since(held.began)
	switch {
	case took >= s.patience() && (isAnswered || took >= s.timeout):
		s.remember(held.call)
	case isAnswered:
		delete(s.slowSince, held.call)
	}
	switch {
	case !isAnswered:
	case s.average == 0:
		s.average = max(1, took)
	default:
		s.average += (took - s.average) / averageOver
	}
}

// remember notes a slow call. It needs the lock.
func (s *slots) remember(call uint64) {
	now := time.Now()
	if len(s.slowSince) >= maxSlow {
		for known, since := range s.slowSince {
			if now.Sub(since) > slowMemory {
				delete(s.slowSince, known)
			}
		}
	}
	if len(s.slowSince) < maxSlow {
		s.slowSince[call] = now
	}
}
