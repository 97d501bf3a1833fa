package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	scaleclient "k8s.io/client-go/scale"
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
	mapper  meta.ResettableRESTMapper
	scales  scaleclient.ScalesGetter
}

func newReach(config *rest.Config) (*reach, error) {
	r := &reach{bounded: rest.CopyConfig(config)}
	r.bounded.Timeout = callTimeout
	discover, err := discovery.NewDiscoveryClientForConfig(r.bounded)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	r.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	r.scales, err = scaleclient.NewForConfig(rest.CopyConfig(r.bounded), r.mapper, dynamic.LegacyAPIPathResolverFunc,
		scaleclient.NewDiscoveryScaleKindResolver(discover))
	if err != nil {
		return nil, fmt.Errorf("making a scale client: %w", err)
	}
	return r, nil
}

// rediscover lets new kinds be found; what was known is asked for again only when it
// is needed.
func (r *reach) rediscover(ctx context.Context) {
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
