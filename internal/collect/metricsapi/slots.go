package metricsapi

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
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

// slots bound how many calls to one metrics API run at a time. Namespaces take turns, in each its objects, and the
// calls of an object go in order.
//
// Calls that were slow the last time get a quarter of the slots at most. One that is slow for the first time, while
// that quarter is taken and others wait, is cancelled and made again as a slow one, with its whole timeout. Its caller
// does not notice.
type slots struct {
	timeout time.Duration
	load    *load
	// seed is of the hashes of calls.
	seed maphash.Seed

	// mu guards the following.
	mu sync.Mutex
	// all has the regular and the slow calls below it, these the namespaces, and these the objects.
	all, regular, slow *queue
	namespaces         fairqueue.Keyed[queueKey, *slot]
	objects            fairqueue.Keyed[queueKey, *slot]
	// preempted calls are being cancelled for those that wait.
	preempted int
	// slowSince holds the calls that were slow the last time, by their hashes: the texts
	// may be of any length. Two calls with one hash are slow together, which is harmless.
	slowSince map[uint64]time.Time
	// average is how long calls take that are answered; 0 before the first.
	average time.Duration
}

type queue = fairqueue.Queue[*slot]

// queueKey is a namespace or an object, with its slow or its regular calls.
type queueKey struct {
	types.NamespacedName
	isSlow bool
}

// slot is the place of one call: first in the queue, then running.
type slot struct {
	// call is the hash of what is requested.
	call                uint64
	isSlow, isPreempted bool
	place               fairqueue.Item[*slot]
	// queue is the one that the call waits in or takes its slot from.
	queue *queue
	// ready is closed when the call may begin.
	ready         chan struct{}
	queued, began time.Time
	// cancel ends the call; watch checks whether it is slow, nil if that is known.
	cancel context.CancelCauseFunc
	watch  *time.Timer
}

func newSlots(n int, timeout time.Duration, load *load) *slots {
	all := fairqueue.New[*slot](nil, n)
	return &slots{
		timeout: timeout, load: load, all: all, regular: fairqueue.New(all, n),
		slow: fairqueue.New(all, max(1, n/slowShare)), slowSince: map[uint64]time.Time{}, seed: maphash.MakeSeed(),
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

// acquire waits for a slot. A caller that gives up leaves the queue at once.
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
	wasWaiting := held.place.Remove()
	s.load.waiting.Set(float64(s.all.Waiting()))
	s.mu.Unlock()
	if !wasWaiting {
		// It was granted at the same moment.
		s.release(held, false)
	}
	return nil, ctx.Err()
}

func (s *slots) enqueue(object types.NamespacedName, call string) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all.Waiting() >= maxWaiting {
		return nil, ErrQueueFull
	}
	held := &slot{call: maphash.String(s.seed, call), ready: make(chan struct{}), queued: time.Now()}
	held.place.Of = held
	_, held.isSlow = s.slowSince[held.call]
	held.queue = s.queueLocked(object, held.isSlow)
	held.queue.Push(&held.place, 0)
	s.grantLocked()
	return held, nil
}

// queueLocked is the queue of an object. Only those above it have limits.
func (s *slots) queueLocked(object types.NamespacedName, isSlow bool) *queue {
	above := s.regular
	if isSlow {
		above = s.slow
	}
	namespace := queueKey{types.NamespacedName{Namespace: object.Namespace}, isSlow}
	return s.objects.Of(queueKey{object, isSlow}, s.namespaces.Of(namespace, above, math.MaxInt), math.MaxInt)
}

// grantLocked lets the calls begin whose turn it is.
func (s *slots) grantLocked() {
	for {
		held, ok := s.slow.Next()
		if !ok {
			held, ok = s.regular.Next()
		}
		if !ok {
			break
		}
		held.began = time.Now()
		s.load.note(held.began, held.began.Sub(held.queued), held.isSlow)
		close(held.ready)
	}
	s.load.waiting.Set(float64(s.all.Waiting()))
}

// begin watches a call for being slow.
func (s *slots) begin(held *slot, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held.cancel = cancel
	if !held.isSlow {
		held.watch = time.AfterFunc(slowAfter, func() { s.checkSlow(held) })
	}
}

// checkSlow has a slow call take one of the slow calls' slots. If there is none, it cancels the call as soon as others
// wait.
func (s *slots) checkSlow(held *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch isSlow := s.average > 0 && time.Since(held.began) >= s.patienceLocked(); {
	case held.watch == nil:
		return // it has ended
	case isSlow && s.slow.Running() < s.slow.Limit:
		held.queue.Done()
		held.isSlow, held.queue = true, s.slow
		s.slow.TryStart()
		return
	case isSlow && s.preempted < s.regular.Waiting():
		s.rememberLocked(held.call)
		s.preempted++
		held.isPreempted = true
		held.cancel(errPreempted)
		return
	}
	held.watch.Reset(slowAfter / 4)
}

// patienceLocked is how long a call may take before it is slow.
func (s *slots) patienceLocked() time.Duration { return max(slowAfter, slowFactor*s.average) }

// release gives a slot back.
func (s *slots) release(held *slot, isAnswered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held.watch != nil {
		held.watch.Stop()
		held.watch = nil
	}
	held.queue.Done()
	if held.isPreempted {
		s.preempted--
	}
	s.learnLocked(held, isAnswered)
	s.grantLocked()
}

// learnLocked learns from how long a call took.
func (s *slots) learnLocked(held *slot, isAnswered bool) {
	took := time.Since(held.began)
	switch {
	case took >= s.patienceLocked() && (isAnswered || took >= s.timeout):
		s.rememberLocked(held.call)
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

func (s *slots) rememberLocked(call uint64) {
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
