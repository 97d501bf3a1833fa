package harness

import (
	"context"
	"time"
)

const (
	// Long is the deadline for what takes seconds on a quiet machine, metrics-server's scrapes included.
	Long = 2 * time.Minute
	// interval is the period of checking conditions.
	interval = 200 * time.Millisecond
)

// Eventually repeats check until it returns nil. If it never does within Long, the test ends with the description and
// the last error, which should have the observed state.
func (s *Namespace) Eventually(what string, check func(context.Context) error) {
	s.t.Helper()
	s.EventuallyWithin(Long, what, check)
}

// EventuallyWithin is Eventually with another deadline.
func (s *Namespace) EventuallyWithin(deadline time.Duration, what string, check func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	var last error
	reached := s.each(ctx, func() bool {
		err := check(ctx)
		if err != nil && (ctx.Err() == nil || last == nil) {
			last = err // the error before the deadline is more specific
		}
		return err == nil
	})
	if !reached {
		s.t.Fatalf("not within %s: %s; last seen: %v", deadline, what, last)
	}
}

// Holds checks for the whole duration and ends the test as soon as check returns an error.
func (s *Namespace) Holds(duration time.Duration, what string, check func(context.Context) error) {
	s.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.t.Context(), duration)
	defer cancel()
	s.each(ctx, func() bool {
		// Not ctx: its end is the good end.
		if err := check(s.t.Context()); err != nil {
			s.t.Fatalf("after %s: not %s any more: %v", time.Since(began).Round(interval), what, err)
		}
		return false
	})
}

// each calls look repeatedly until it returns true or the context ends.
func (s *Namespace) each(ctx context.Context, look func() bool) bool {
	s.t.Helper()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if look() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}
