// Package clientauth makes, from Secrets, what a client shows to a server of metrics and how it
// checks the server: TLS configurations, and values of the header Authorization.
//
// Errors name the field of the object and the Secret, and have nothing of its data.
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

// Pods is the host of a Peer that is the pods of PodEndpoint metrics.
const Pods = "pods"

// maxAge is how long material is used without asking Lookup again.
const maxAge = time.Second

// Peer gets the value of a Secret.
type Peer struct {
	// Host is HOST:PORT as the object has it, or Pods.
	Host string
	// IsVerified reports that the peer must prove its identity before it gets the value, by the system's
	// authorities or by one in the same Secret.
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

// peer is the target as one that gets values of the Secret.
func (t *Target) peer(secret string) Peer {
	name := ""
	if t.Host != Pods {
		name = hostname(t.Host)
	}
	return Peer{Host: t.Host, IsVerified: t.IsTLS && t.TLS.IsProof(secret, name)}
}

// serverName is the name that the certificate must have; empty if that of the connection.
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

// Material is what connections to the target need. It must not be changed.
type Material struct {
	// TLS is nil without TLS. The pointer stays the same as long as the contents do. Its ServerName is
	// empty if the target is pods and the object has no serverName: then each connection has its own.
	TLS *tls.Config
	// Authorization is the value of the header; empty if there is none.
	Authorization string
}

// Client makes the material of one target, and makes it again when a Secret changes. It may be used
// by many goroutines. Make one for each object or server, not for each connection: the first use
// reads certificates.
type Client struct {
	lookup Lookup
	target Target
	// turn serializes rebuilding.
	turn   chan struct{}
	latest atomic.Pointer[made]
	// isBegun and isMade are of the first material, if Latest makes it. isMade is closed then.
	isBegun atomic.Bool
	isMade  chan struct{}
	// ready is that of Notify; nil for none.
	ready func()
}

// made is what was made of the Secrets at a time.
type made struct {
	material Material
	err      error
	at       time.Time
	pem      parts
}

// New reads nothing yet.
func New(lookup Lookup, target Target) *Client {
	return &Client{lookup: lookup, target: target, turn: make(chan struct{}, 1), isMade: make(chan struct{})}
}

// Get is the material as of at most a second ago.
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

// build builds the material. Where the parts of the TLS configuration are those of the last one,
// it is kept.
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
