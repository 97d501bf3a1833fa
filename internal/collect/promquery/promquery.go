// Package promquery asks Prometheus servers for the metrics of type Prometheus.
package promquery

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Config is what a Source needs.
type Config struct {
	// Dial connects to a server for objects of the namespace.
	Dial func(ctx context.Context, namespace, host string, port uint16) (net.Conn, error)
	// Credential returns values of Secrets; nil if they are not read.
	Credential clientauth.Lookup
	// SyncPeriod is the time between decisions about an object. An object that no Look was about for
	// two of them is no longer asked for.
	SyncPeriod time.Duration
}

// Source has the latest results of queries. It may be used by many goroutines.
type Source struct {
	config Config
}

// New makes a Source. It asks nothing before Run.
func New(config Config) (*Source, error) {
	if config.Dial == nil || config.SyncPeriod <= 0 {
		return nil, errors.New("promquery: Dial and a sync period are needed")
	}
	return &Source{config: config}, nil
}

// Run asks until the context ends. It calls sampled for each object that has a new answer.
func (s *Source) Run(ctx context.Context, sampled func(observe.Key)) {
	<-ctx.Done()
}

// Look is the latest answer for a metric of the object. From the first Look on the query is asked
// repeatedly.
func (s *Source) Look(now time.Time, key observe.Key, metric int, spec *sources.Prometheus) sources.Answer {
	return sources.Answer{Asked: now, Err: errors.New("Prometheus is not asked yet")}
}

// Forget no longer asks for the object.
func (s *Source) Forget(key observe.Key) {}
