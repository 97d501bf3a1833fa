package vpa

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
)

// servedPeriod is how often the definitions of the objects are looked for while they
// are not installed.
const servedPeriod = 30 * time.Second

// AwaitServed waits until the API server knows the objects. It logs once that it does
// not. An error is the context's.
func (c *Client) AwaitServed(ctx context.Context, log logr.Logger) error {
	isLogged := false
	ticker := time.NewTicker(servedPeriod)
	defer ticker.Stop()
	for {
		served, err := c.Served(ctx)
		if served {
			return nil
		}
		if !isLogged {
			log.Info("vertical autoscaling is off until the definitions of its objects are installed", "error", fmt.Sprint(err))
			isLogged = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
