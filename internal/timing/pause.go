// Package timing has the parts of schedules: a pause, the later of two times, a moment of its own for each name in a
// period, a queue by due time, and the CPU that a function takes.
package timing

import (
	"context"
	"time"
)

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Pause waits for d. It returns why ctx ended, if that comes first.
func Pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
