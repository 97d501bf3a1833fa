package reaction

import (
	"context"
	"math"
	"time"
)

// kubeletCores waits for a time and returns how many cores the kubelet used meanwhile; NaN without a real kubelet.
func (c Config) kubeletCores(ctx context.Context, duration time.Duration) (float64, error) {
	before, exists, err := c.Stage.KubeletCPU()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := sleep(ctx, duration); err != nil {
		return 0, err
	}
	if !exists {
		return math.NaN(), nil
	}
	after, _, err := c.Stage.KubeletCPU()
	if err != nil {
		return 0, err
	}
	return (after - before).Seconds() / time.Since(began).Seconds(), nil
}

// sleep waits for a time, or for the end of the context.
func sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
