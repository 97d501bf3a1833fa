package e2e

import (
	"context"
	"slices"
	"sync"
)

// job is one run of one test.
type job struct {
	run, spec int
	// share is the number of tests that it counts for in Config.AtATime.
	share int
}

// queue hands out jobs in their order. A test runs once at a time: its next run waits, and jobs behind it go first.
type queue struct {
	mu sync.Mutex
	// guarded by mu; tests are running by their index
	pending []job
	running map[int]bool
	free    int

	ended chan struct{} // wakes next; one element stands for any number of jobs that have ended
}

func newQueue(jobs []job, free int) *queue {
	return &queue{pending: jobs, free: free, running: map[int]bool{}, ended: make(chan struct{}, 1)}
}

// next waits for the next job; false if there are no more, or ctx has ended.
func (q *queue) next(ctx context.Context) (job, bool) {
	for ctx.Err() == nil {
		next, isThere, isEmpty := q.take()
		if isThere || isEmpty {
			return next, isThere
		}
		select {
		case <-q.ended:
		case <-ctx.Done():
		}
	}
	return job{}, false
}

// take removes the first job whose test is not running. If there is no room for it, none behind it is taken instead: a
// job with a large share would otherwise wait as long as there are small ones.
func (q *queue) take() (next job, isThere, isEmpty bool) {
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
