// Package calls says how the horizontal loop calls the API server: without keeping a worker
// from other HPAs meanwhile, with a bound for each kind of object, and with a pause after a
// failure.
package calls

import "context"

// Workers bounds how many HPAs are decided at once. One that waits for a call does not
// count.
type Workers chan struct{}

// NewWorkers allows so many.
func NewWorkers(limit int) Workers { return make(Workers, limit) }

// Acquire waits for a worker; false when ctx ends.
func (w Workers) Acquire(ctx context.Context) bool {
	select {
	case w <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release gives a worker back.
func (w Workers) Release() { <-w }

// Yield gives the caller's worker back while call waits.
func (w Workers) Yield(call func()) {
	<-w
	defer func() { w <- struct{}{} }()
	call()
}
