package simulate

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// PlayAll plays settings on the same scene, on all cores, and returns their runs in
// their order. Progress is called with the part that is done; it may be nil.
func PlayAll(ctx context.Context, s *Scene, settings []Setting, progress func(part float64)) ([]*Run, error) {
	runs := make([]*Run, len(settings))
	parts := shares{of: make([]float64, len(settings)), tell: progress}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range settings {
		group.Go(func() error {
			var err error
			runs[i], err = Play(ctx, s, settings[i], Watch{Progress: func(part float64) { parts.set(i, part) }})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return runs, nil
}

// shares add up how far several are.
type shares struct {
	tell func(part float64)

	// mu guards what follows.
	mu sync.Mutex
	of []float64
}

func (s *shares) set(i int, part float64) {
	if s.tell == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[i] = part
	sum := 0.0
	for _, p := range s.of {
		sum += p
	}
	s.tell(sum / float64(len(s.of)))
}
