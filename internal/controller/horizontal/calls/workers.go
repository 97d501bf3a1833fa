// Package calls bounds the calls of the horizontal loop to the API server: a call that waits occupies no worker, each
// kind of object has its own limit, and failed calls back off.
package calls

import "context"

// Workers bounds the HPAs that are decided at once. An HPA that waits for a call does not count.
type Workers chan struct{}

// NewWorkers allows limit workers.
func NewWorkers(limit int) Workers { return make(Workers, limit) }

// Acquire waits for a worker; it returns false when ctx ends.
func (w Workers) Acquire(ctx context.Context) bool {
	select {
	case w <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release returns a worker.
func (w Workers) Release() { <-w }

// Yield releases the caller's worker during call, and acquires one again.
func (w Workers) Yield(call func()) {
	<-w
	defer func() { w <- struct{}{} }()
	call()
}
