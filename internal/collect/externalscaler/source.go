package externalscaler

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Config is what a Source needs.
type Config struct {
	// Dial connects to a server for objects of a namespace, if they may use it.
	Dial func(ctx context.Context, namespace, host string, port uint16) (net.Conn, error)
}

// Source reads the metrics of external scalers. It may be used by many goroutines.
type Source struct{ config Config }

// New makes a Source that connects to nothing yet.
func New(config Config) (*Source, error) {
	if config.Dial == nil {
		return nil, errors.New("external scalers: Dial is needed")
	}
	return &Source{config: config}, nil
}

// Run asks the scalers of the metrics that Look was called for, until the context ends. After that
// all connections are closed, and nothing is known any more. sampled is called when there is
// another answer for an object; pushed at once when a scaler reports that an object is active.
// Both must return soon.
func (s *Source) Run(ctx context.Context, sampled, pushed func(observe.Key)) {
	<-ctx.Done()
}

// Look returns what is known of a metric, and subscribes to it. metric is its index among the
// object's metrics.
func (s *Source) Look(now time.Time, key observe.Key, metric int, spec *sources.ExternalScaler) sources.Answer {
	return sources.Answer{Err: errUnavailable, Asked: now}
}

// Forget ends what Look began for the object's metrics.
func (s *Source) Forget(key observe.Key) {}

var errUnavailable = errors.New("external scalers are not read")
