// Package clientauth makes from Secrets the credentials that a client shows to a server of metrics, and the
// configuration with which it verifies the server: TLS configurations, and values of the Authorization header.
//
// Errors name the field of the object and the Secret, and contain none of its data.
package clientauth

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Pods is the host of a Peer that stands for the pods of PodEndpoint metrics.
const Pods = "pods"

// maxAge is how long material is used without another call of Lookup.
const maxAge = time.Second

// Peer gets the value of a Secret.
type Peer struct {
	// Host is HOST:PORT as the object has it, or Pods.
	Host string
	// IsVerified is true if the peer must prove its identity before it gets the value, by the system's authorities or by
	// one in the same Secret.
	IsVerified bool
}

// Lookup returns the value of a Secret's key, if it may be given to the peer.
type Lookup func(ctx context.Context, namespace string, key sources.SecretKey, to Peer) ([]byte, error)

// Target is a server, and the object whose credentials it gets. It is comparable.
type Target struct {
	// Namespace is the object's.
	Namespace string
	// Host is that of the Peer.
	Host string
	// IsTLS reports that the connection is encrypted.
	IsTLS       bool
	TLS         sources.TLS
	Credentials sources.Credentials
}

// peer returns the target as a recipient of the Secret's values.
func (t *Target) peer(secret string) Peer {
	name := ""
	if t.Host != Pods {
		name = hostname(t.Host)
	}
	return Peer{Host: t.Host, IsVerified: t.IsTLS && t.TLS.IsProof(secret, name)}
}

// serverName is the name that the certificate must have; empty for that of the connection.
func (t *Target) serverName() string {
	if t.TLS.ServerName != "" || t.Host == Pods {
		return t.TLS.ServerName
	}
	return hostname(t.Host)
}

// hostname is the host of HOST:PORT.
func hostname(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// Material has the credentials for connections to the target. It must not be changed.
type Material struct {
	// TLS is nil without TLS. The pointer stays the same as long as the contents do. Its ServerName is empty if the target
	// is pods and the object has no serverName: then each connection has its own.
	TLS *tls.Config
	// Authorization is the value of the header; empty without one.
	Authorization string
}

// Client makes the material of one target, and makes it again when a Secret changes. It is safe for concurrent use.
// Make one for each object or server, not for each connection: the first use parses certificates.
type Client struct {
	lookup Lookup
	target Target
	// turn serializes rebuilding.
	turn   chan struct{}
	latest atomic.Pointer[made]
	// isBegun and isMade concern the first material, if Latest makes it. isMade is closed then.
	isBegun atomic.Bool
	isMade  chan struct{}
	// ready is the function of Notify; nil for none.
	ready func()
}

// made is the material from the Secrets as of a time.
type made struct {
	material Material
	err      error
	at       time.Time
	pem      parts
}

// New makes a Client. It reads nothing yet.
func New(lookup Lookup, target Target) *Client {
	return &Client{lookup: lookup, target: target, turn: make(chan struct{}, 1), isMade: make(chan struct{})}
}

// Get returns the material as of at most a second ago.
func (c *Client) Get(ctx context.Context) (Material, error) {
	m := c.latest.Load()
	if m.isFresh() {
		return m.material, m.err
	}
	if m == nil {
		select {
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return Material{}, fmt.Errorf("waiting for Secrets: %w", ctx.Err())
		}
	} else {
		select {
		case c.turn <- struct{}{}:
		default:
			// Another goroutine is about to replace it.
			return m.material, m.err
		}
	}
	defer func() { <-c.turn }()
	if m = c.latest.Load(); m.isFresh() {
		return m.material, m.err
	}
	next := c.build(ctx, m)
	if next.err != nil && ctx.Err() != nil {
		// This is an error of the caller, not of the target.
		return Material{}, next.err
	}
	c.latest.Store(next)
	return next.material, next.err
}

func (m *made) isFresh() bool { return m != nil && time.Since(m.at) < maxAge }

// build builds the material. If the parts of the TLS configuration have not changed, it keeps the last one.
func (c *Client) build(ctx context.Context, last *made) *made {
	next := &made{at: time.Now()}
	next.material, next.pem, next.err = c.read(ctx, last)
	if next.err != nil {
		next.material = Material{}
	}
	return next
}

func (c *Client) read(ctx context.Context, last *made) (Material, parts, error) {
	var m Material
	var err error
	if m.Authorization, err = c.authorization(ctx); err != nil {
		return m, parts{}, err
	}
	if !c.target.IsTLS {
		return m, parts{}, nil
	}
	pem, err := c.parts(ctx)
	if err != nil {
		return m, parts{}, err
	}
	if last != nil && last.material.TLS != nil && last.pem.equal(&pem) {
		m.TLS = last.material.TLS
		return m, pem, nil
	}
	m.TLS, err = configOf(&c.target, &pem)
	return m, pem, err
}
