package e2e

import (
	"context"
	"slices"
	"sync"
)

// job is one run of one test.
type job struct {
	run, spec int
	// share is how much of what is free the test takes.
	share int64
}

// queue gives out jobs in their order. A test runs once at a time: while it does, the jobs behind it go first.
type queue struct {
	mu      sync.Mutex
	pending []job
	running map[int]bool // tests by their index
	free    int64

	ended chan struct{} // has an element when a job has ended since
}

func newQueue(jobs []job, free int64) *queue {
	return &queue{pending: jobs, free: free, running: map[int]bool{}, ended: make(chan struct{}, 1)}
}

// next waits for the next job; false if there are no more, or ctx has ended.
func (q *queue) next(ctx context.Context) (job, bool) {
	for {
		next, isThere, isLast := q.take()
		if isThere || isLast {
			return next, isThere
		}
		select {
		case <-q.ended:
		case <-ctx.Done():
			return job{}, false
		}
	}
}

// take takes the first job whose test does not run, if there is room for it. One that needs more is not overtaken: it
// would wait for ever.
func (q *queue) take() (next job, isThere, isLast bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.pending, func(j job) bool { return !q.running[j.spec] })
	if at < 0 || q.pending[at].share > q.free {
		return job{}, false, len(q.pending) == 0
	}
	next = q.pending[at]
	q.pending = slices.Delete(q.pending, at, at+1)
	q.running[next.spec] = true
	q.free -= next.share
	return next, true, false
}

// done gives back what a job took.
func (q *queue) done(j job) {
	q.mu.Lock()
	q.free += j.share
	delete(q.running, j.spec)
	q.mu.Unlock()
	select {
	case q.ended <- struct{}{}:
	default:
	}
}
