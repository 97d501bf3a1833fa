package scale

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// CallTimeout bounds the calls that take no context.
	CallTimeout = 15 * time.Second
	// DiscoveryPeriod is the period of discovery, as upstream.
	DiscoveryPeriod = 30 * time.Second
)

// Access has the clients for reading and writing scales of any kind.
type Access struct {
	// Bounded is the configuration for clients whose calls take no context.
	Bounded *rest.Config
	Mapper  *Mapper
	Scales  scaleclient.ScalesGetter
	// Writes has no client-side limit: a writer waits for Limiter first, which Scales waits for, too. Limiter is nil
	// without a limit.
	Writes  scaleclient.ScalesGetter
	Limiter flowcontrol.RateLimiter
	// Kinds keeps of which kind the scale of each resource is.
	Kinds scaleclient.ScaleKindResolver
}

// NewAccess makes the clients. It makes no call.
func NewAccess(config *rest.Config) (*Access, error) {
	a := &Access{Bounded: rest.CopyConfig(config)}
	a.Bounded.Timeout = CallTimeout
	discover, err := discovery.NewDiscoveryClientForConfig(a.Bounded)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	a.Mapper = NewMapper(discover)
	limited, unlimited := rest.CopyConfig(a.Bounded), rest.CopyConfig(a.Bounded)
	if config.QPS > 0 {
		a.Limiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
		limited.RateLimiter = a.Limiter
	}
	unlimited.QPS, unlimited.Burst = -1, 0
	a.Kinds = scaleclient.NewDiscoveryScaleKindResolver(discover)
	if a.Scales, err = a.newScales(limited); err != nil {
		return nil, err
	}
	a.Writes, err = a.newScales(unlimited)
	return a, err
}

func (a *Access) newScales(config *rest.Config) (scaleclient.ScalesGetter, error) {
	scales, err := scaleclient.NewForConfig(config, a.Mapper, dynamic.LegacyAPIPathResolverFunc, a.Kinds)
	if err != nil {
		return nil, fmt.Errorf("making a scale client: %w", err)
	}
	return scales, nil
}

// Rediscover marks the discovered kinds as old each DiscoveryPeriod; the next call that misses a kind begins another
// discovery. It returns when ctx ends.
func (a *Access) Rediscover(ctx context.Context) {
	a.Mapper.Start()
	ticker := time.NewTicker(DiscoveryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.Mapper.Reset()
		case <-ctx.Done():
			return
		}
	}
}
