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
	// A call is slow after slowAfter, and after slowFactor times the average duration of its API's answered calls.
	slowAfter  = 250 * time.Millisecond
	slowFactor = 4
	// slowShare is the divisor of the slots for the number that slow calls may have.
	slowShare = 4
	// averageOver is the number of calls that the moving average covers.
	averageOver = 16
	// maxWaiting bounds the calls that wait for a slot of one API.
	maxWaiting = 100_000
	// maxSlow bounds the number of slow calls that are remembered, slowMemory the time.
	maxSlow    = 10_000
	slowMemory = 10 * time.Minute
)

// ErrQueueFull is returned for a call that was not made because too many are waiting.
var ErrQueueFull = errors.New("too many calls wait for the metrics API")

// errPreempted is the cause of cancelling a call that is made again as a slow one.
var errPreempted = errors.New("the call takes far longer than those that wait for its slot")

// slots limits the calls to one metrics API that run at a time. Namespaces take turns, in each its objects, and the
// calls of an object go in order.
//
// Calls that were slow the last time get at most a quarter of the slots. A call that is slow for the first time, while
// that quarter is taken and others wait, is cancelled and made again as a slow one, with its whole timeout. Its caller
// does not notice.
type slots struct {
	timeout time.Duration
	load    *load
	// seed seeds the hashes of calls.
	seed maphash.Seed

	// mu guards the following.
	mu sync.Mutex
	// all has the regular and the slow queue below it, these the namespaces, and these the objects.
	all, regular, slow *queue
	namespaces         fairqueue.Keyed[queueKey, *slot]
	objects            fairqueue.Keyed[queueKey, *slot]
	// preempted counts the calls that are being cancelled for waiting ones.
	preempted int
	// slowSince holds the calls that were slow the last time, by their hashes: their texts may be of any length. Two calls
	// with the same hash are slow together, which is harmless.
	slowSince map[uint64]time.Time
	// average is the average duration of answered calls; 0 before the first.
	average time.Duration
}

type queue = fairqueue.Queue[*slot]

// queueKey is a namespace or an object, with its slow or its regular calls.
type queueKey struct {
	types.NamespacedName
	isSlow bool
}

// slot is the slot of one call: it waits in a queue, then runs.
type slot struct {
	// call is the hash of the request.
	call                uint64
	isSlow, isPreempted bool
	place               fairqueue.Item[*slot]
	// queue is the queue in which the call waits, or from which it takes its slot.
	queue *queue
	// ready is closed when the call may begin.
	ready         chan struct{}
	queued, began time.Time
	// cancel ends the call; watch is the timer of checkSlow, nil where it is not needed.
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

// run waits for a slot and makes the call. The timeout begins with the slot, so that waiting alone fails no call.
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
	// A panic releases the slot, too.
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

// acquire waits for a slot. A caller whose context ends leaves the queue at once.
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

// queueLocked returns the queue of an object. Only the queues above it have limits.
func (s *slots) queueLocked(object types.NamespacedName, isSlow bool) *queue {
	above := s.regular
	if isSlow {
		above = s.slow
	}
	namespace := queueKey{types.NamespacedName{Namespace: object.Namespace}, isSlow}
	return s.objects.Of(queueKey{object, isSlow}, s.namespaces.Of(namespace, above, math.MaxInt), math.MaxInt)
}

// grantLocked starts the calls that have slots now.
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

// checkSlow moves a slow call to one of the slots for slow calls. Without a free one, it cancels the call as soon as
// others wait.
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

// patienceLocked is the duration after which a call is slow.
func (s *slots) patienceLocked() time.Duration { return max(slowAfter, slowFactor*s.average) }

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

// learnLocked updates the average and the slow calls with the duration of a call.
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
