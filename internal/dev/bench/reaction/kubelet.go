package reaction

import (
	"context"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// kubeletCores waits for a time and returns how many cores the kubelet used meanwhile; NaN without a real kubelet.
func (c Config) kubeletCores(ctx context.Context, duration time.Duration) (float64, error) {
	before, exists, err := c.Stage.KubeletCPU()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := timing.Pause(ctx, duration); err != nil {
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
