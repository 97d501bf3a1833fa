package vpa

import (
	"context"

	"github.com/go-logr/logr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Served reports whether the API server serves the objects: whether their definitions are installed.
func (c *Client) Served(ctx context.Context) (bool, error) {
	return c.api.Served(ctx, vpav1.VerticalPodAutoscalers, vpav1.VerticalPodAutoscalerCheckpoints)
}

// AwaitServed waits until the API server serves the objects. It logs once that it does not. An error is the context's.
func (c *Client) AwaitServed(ctx context.Context, log logr.Logger) error {
	return c.api.AwaitServed(ctx, log,
		"vertical autoscaling is off until the definitions of its objects are installed",
		vpav1.VerticalPodAutoscalers, vpav1.VerticalPodAutoscalerCheckpoints)
}
