package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Background is a part of a program that runs beside its server. Its error ends the program.
type Background func(context.Context) error

// Lasting is a part that does not fail.
func Lasting(run func(context.Context)) Background {
	return func(ctx context.Context) error { run(ctx); return nil }
}

// Serve serves until the context ends, or a part of background fails. Then it accepts no further requests, and lets
// those in progress finish within the timeout. What they need runs beside it: the contexts of background end after
// them, and Serve waits for it.
func Serve(
	ctx context.Context, g *grpc.Server, listener net.Listener, timeout time.Duration, background ...Background,
) error {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(background))
	for i, run := range background {
		wg.Go(func() {
			if errs[i] = run(lasting); errs[i] != nil {
				cancel()
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(timeout, g.Stop)
		defer timer.Stop()
		g.GracefulStop()
	})
	defer stop()
	// It returns when GracefulStop or Stop does.
	err := g.Serve(listener)
	if ctx.Err() != nil {
		err = nil
	}
	end()
	wg.Wait()
	return errors.Join(errors.Join(errs...), err)
}
