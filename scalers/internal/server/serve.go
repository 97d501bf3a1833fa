package server

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Serve serves until the context ends. Then it accepts no further requests, and lets those in progress finish within
// the timeout. What they need runs beside it: the contexts of background end after them, and Serve waits for it.
func Serve(
	ctx context.Context, g *grpc.Server, listener net.Listener, timeout time.Duration, background ...func(context.Context),
) error {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	for _, run := range background {
		wg.Go(func() { run(lasting) })
	}
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(timeout, g.Stop)
		defer timer.Stop()
		g.GracefulStop()
	})
	defer stop()
	// It returns when GracefulStop or Stop does.
	if err := g.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
