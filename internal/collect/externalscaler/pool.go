package externalscaler

import (
	"slices"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// maxUsers is how many metrics share a connection. Each has a stream and up to two calls under way,
// and some servers permit 100 of these per connection.
const maxUsers = 32

// pool has the connections to all scalers. Objects of different namespaces share none.
type pool struct {
	config *Config

	// mu guards the following.
	mu          sync.Mutex
	connections map[clientauth.Target][]*connection
}

// lease is the use of a connection.
type lease struct {
	*connection

	target clientauth.Target
}

func targetFor(key observe.Key, spec *sources.ExternalScaler) clientauth.Target {
	return clientauth.Target{Namespace: key.Namespace, Host: spec.Address, IsTLS: spec.IsTLS, TLS: spec.TLS}
}

// acquire is a connection with room for one more.
func (p *pool) acquire(target clientauth.Target) (lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connections[target] {
		if c.users < maxUsers {
			c.users++
			return lease{c, target}, nil
		}
	}
	c, err := newConnection(p.config, &target)
	if err != nil {
		return lease{}, err
	}
	c.users = 1
	p.connections[target] = append(p.connections[target], c)
	return lease{c, target}, nil
}

// release closes the connection if it was the last that used it.
func (p *pool) release(l lease) {
	if p.remove(l) {
		l.close()
	}
}

// remove reports whether no metric uses the connection any more.
func (p *pool) remove(l lease) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users--; l.users > 0 {
		return false
	}
	left := slices.DeleteFunc(p.connections[l.target], func(c *connection) bool { return c == l.connection })
	if p.connections[l.target] = left; len(left) == 0 {
		delete(p.connections, l.target)
	}
	return true
}
