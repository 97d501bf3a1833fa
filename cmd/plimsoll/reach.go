package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/kube/kinds"
)

const (
	// callTimeout bounds the calls that take no context.
	callTimeout = 15 * time.Second
	// discoveryPeriod is how often new kinds are looked for, as upstream.
	discoveryPeriod = 30 * time.Second
)

// reach is the way to the scale of anything that has one.
type reach struct {
	// bounded is the configuration for clients whose calls take no context.
	bounded *rest.Config
	mapper  *kinds.Mapper
	scales  scaleclient.ScalesGetter
	// scaleWrites has no limit on this side: whoever writes waits for limiter before, which
	// scales waits for, too. It is nil without --kube-api-qps.
	scaleWrites scaleclient.ScalesGetter
	limiter     flowcontrol.RateLimiter
	// scaleKinds keeps of which kind the scale of each resource is.
	scaleKinds scaleclient.ScaleKindResolver
}

func newReach(config *rest.Config) (*reach, error) {
	r := &reach{bounded: rest.CopyConfig(config)}
	r.bounded.Timeout = callTimeout
	discover, err := discovery.NewDiscoveryClientForConfig(r.bounded)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	r.mapper = kinds.New(discover)
	limited, unlimited := rest.CopyConfig(r.bounded), rest.CopyConfig(r.bounded)
	if config.QPS > 0 {
		r.limiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
		limited.RateLimiter = r.limiter
	}
	unlimited.QPS, unlimited.Burst = -1, 0
	r.scaleKinds = scaleclient.NewDiscoveryScaleKindResolver(discover)
	if r.scales, err = r.newScales(limited); err != nil {
		return nil, err
	}
	r.scaleWrites, err = r.newScales(unlimited)
	return r, err
}

func (r *reach) newScales(config *rest.Config) (scaleclient.ScalesGetter, error) {
	scales, err := scaleclient.NewForConfig(config, r.mapper, dynamic.LegacyAPIPathResolverFunc, r.scaleKinds)
	if err != nil {
		return nil, fmt.Errorf("making a scale client: %w", err)
	}
	return scales, nil
}

// give lets the horizontal loop read and write scales.
func (r *reach) give(c *controllerhorizontal.Config) {
	c.Scales, c.ScaleWrites, c.ScaleKinds, c.WriteLimiter, c.Mapper = r.scales, r.scaleWrites, r.scaleKinds, r.limiter, r.mapper
}

// rediscover finds kinds, and lets new ones be found; what was known is asked for again only when it
// is needed.
func (r *reach) rediscover(ctx context.Context) {
	r.mapper.Start()
	ticker := time.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.mapper.Reset()
		case <-ctx.Done():
			return
		}
	}
}
