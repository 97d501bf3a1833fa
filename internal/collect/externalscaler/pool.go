package externalscaler

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// maxUsers is the number of metrics that may share a connection. Each has a stream and up to two calls under way, and
// some servers permit 100 of these per connection.
const maxUsers = 32

// Authors could use up the file descriptors and the memory of the controller without these bounds.
const (
	// maxConnections bounds the connections for the objects of a namespace.
	maxConnections = 128
	// Each namespace may have its guaranteed connections, whatever others have; maxShared bounds the further ones of all
	// namespaces.
	guaranteed = 4
	maxShared  = 1024
)

var (
	errNoScalers = errors.New("plimsoll-scalers reads metrics of type Scaler, and this controller has no " +
		"--scalers-address")
	errTooMany    = errors.New("there are too many connections to scalers")
	errTooManyOwn = fmt.Errorf("%w (%d, the most for a namespace)", errTooMany, maxConnections)
	errTooManyAll = fmt.Errorf("%w (%d for all namespaces beside the first %d of each)",
		errTooMany, maxShared, guaranteed)
)

// pool holds the connections to all scalers. Objects of different namespaces share none.
type pool struct {
	config *Config

	// mu guards the following.
	mu          sync.Mutex
	connections map[clientauth.Target][]*connection
	// counts holds the number of connections of each namespace, shared the number beyond the guaranteed ones.
	counts map[string]int
	shared int
	limits limits
}

func newPool(config *Config) *pool {
	return &pool{
		config: config, connections: map[clientauth.Target][]*connection{}, counts: map[string]int{}, limits: newLimits(),
	}
}

func (c *Config) targetFor(key observe.Key, spec *sources.ExternalScaler) (clientauth.Target, error) {
	switch {
	case !spec.FromPlimsollScalers:
		return clientauth.Target{Namespace: key.Namespace, Host: spec.Address, IsTLS: spec.IsTLS, TLS: spec.TLS}, nil
	case c.Scalers.Address == "":
		return clientauth.Target{}, errNoScalers
	}
	return clientauth.Target{
		Namespace: key.Namespace, Host: c.Scalers.Address, IsTLS: c.Scalers.CABundle != "",
		TLS: sources.TLS{CABundle: c.Scalers.CABundle},
	}, nil
}

// acquire returns a connection with room for one more metric.
func (p *pool) acquire(target clientauth.Target) (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connections[target] {
		if c.users < maxUsers {
			c.users++
			return c, nil
		}
	}
	switch count := p.counts[target.Namespace]; {
	case count >= maxConnections:
		return nil, errTooManyOwn
	case count >= guaranteed && p.shared >= maxShared:
		return nil, errTooManyAll
	}
	c, err := newConnection(p.config, &target)
	if err != nil {
		return nil, err
	}
	c.users, c.limits = 1, p.limits.acquire(target)
	p.connections[target] = append(p.connections[target], c)
	if p.counts[target.Namespace]++; p.counts[target.Namespace] > guaranteed {
		p.shared++
	}
	return c, nil
}

// release closes the connection if it was the last that used it.
func (p *pool) release(c *connection) {
	if p.remove(c) {
		c.close()
	}
}

// remove releases a connection, and reports whether it has no metric left.
func (p *pool) remove(c *connection) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users--; c.users > 0 {
		return false
	}
	for _, limit := range c.limits {
		limit.users--
	}
	left := slices.DeleteFunc(p.connections[c.target], func(other *connection) bool { return other == c })
	if p.connections[c.target] = left; len(left) == 0 {
		delete(p.connections, c.target)
	}
	if p.counts[c.target.Namespace] > guaranteed {
		p.shared--
	}
	if p.counts[c.target.Namespace]--; p.counts[c.target.Namespace] == 0 {
		delete(p.counts, c.target.Namespace)
	}
	return true
}
