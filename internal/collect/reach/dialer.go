package reach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	// dialTimeout bounds one Dial, with all lookups and attempts.
	dialTimeout = 3 * time.Second
	keepAlive   = 30 * time.Second
	// maxAddresses is the number of addresses of a server that one Dial tries.
	maxAddresses = 3
)

// Config configures a Dialer.
type Config struct {
	Rules Rules
	// Services returns the addresses of the pods behind a port of a Service; nil if Services may not
	// be read.
	Services func(ctx context.Context, namespace, name string, port uint16) ([]netip.AddrPort, error)
	// ClusterDomain is the domain of Services in DNS (--cluster-domain); empty for the usual one.
	ClusterDomain string
	// Lookup queries DNS; nil for the resolver of this machine. Names end in a dot: they are complete.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Connect opens a TCP connection; nil for that of this machine.
	Connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// Dialer connects to servers and pods that the rules permit. It may be used by many goroutines.
type Dialer struct{ config Config }

// NewDialer makes a Dialer. It connects to nothing yet.
func NewDialer(config Config) *Dialer {
	if config.ClusterDomain == "" {
		config.ClusterDomain = DefaultClusterDomain
	}
	if config.Lookup == nil {
		config.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if config.Connect == nil {
		dialer := &net.Dialer{KeepAlive: keepAlive}
		config.Connect = func(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address.String())
		}
	}
	return &Dialer{config}
}

// Dial connects to a server for objects of the namespace.
func (d *Dialer) Dial(ctx context.Context, namespace, host string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connect, err := d.Resolve(ctx, namespace, host, port)
	if err != nil {
		return nil, err
	}
	return connect(ctx)
}

// Resolve is the first part of Dial, which depends on the API server and DNS: connect depends on the server alone. The
// rules are applied to each address directly before connecting to it, so call connect at once.
func (d *Dialer) Resolve(
	ctx context.Context, namespace, host string, port uint16,
) (connect func(context.Context) (net.Conn, error), err error) {
	route, err := d.config.Rules.CheckServer(namespace, host, port)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := d.addresses(ctx, namespace, route, port)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return d.connect(ctx, addresses)
	}, nil
}

// DialPod connects to a pod.
func (d *Dialer) DialPod(ctx context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error) {
	if err := d.config.Rules.CheckPod(address.Addr(), isHostNetwork); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return d.connect(ctx, []netip.AddrPort{address})
}

// addresses returns those of the route that the rules permit. It is an error if there is none.
func (d *Dialer) addresses(
	ctx context.Context, namespace string, route Route, port uint16,
) ([]netip.AddrPort, error) {
	switch {
	case route.Address.IsValid():
		return []netip.AddrPort{netip.AddrPortFrom(route.Address, port)}, nil
	case route.Name != "":
		found, err := d.lookup(ctx, route.Name)
		if err != nil {
			return nil, err
		}
		addresses := make([]netip.AddrPort, len(found))
		for i, address := range found {
			addresses[i] = netip.AddrPortFrom(address, port)
		}
		return permitted(addresses, checkResolved)
	case d.config.Services == nil:
		return nil, fmt.Errorf("service %s/%s: Services are not read", namespace, route.Service)
	}
	found, err := d.config.Services(ctx, namespace, route.Service, port)
	if err != nil {
		return nil, err
	}
	addresses, err := permitted(found, func(address netip.Addr) error {
		return d.config.Rules.CheckPod(address, false)
	})
	if err != nil {
		return nil, fmt.Errorf("pods of service %s/%s: %w", namespace, route.Service, err)
	}
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	return addresses, nil
}

// lookup queries DNS for a complete name. With the search domains of a pod or of its node, another name may match
// first: example.com is also Service example of namespace com, and a node's domain may have a wildcard record.
func (d *Dialer) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if !strings.HasSuffix(name, ".svc") {
		return d.config.Lookup(ctx, name+".")
	}
	addresses, err := d.config.Lookup(ctx, name+"."+d.config.ClusterDomain+".")
	var failed *net.DNSError
	if errors.As(err, &failed) && failed.IsNotFound {
		return nil, fmt.Errorf("%w (a Service of the cluster whose domain is %s by --cluster-domain)", err,
			d.config.ClusterDomain)
	}
	return addresses, err
}

// permitted returns the addresses that pass the check. If none passes, it returns the first error.
func permitted(addresses []netip.AddrPort, check func(netip.Addr) error) ([]netip.AddrPort, error) {
	var kept []netip.AddrPort
	var refusal error
	for _, address := range addresses {
		if err := check(address.Addr()); err == nil {
			kept = append(kept, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()))
		} else if refusal == nil {
			refusal = err
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	if refusal == nil {
		refusal = errors.New("there is no address")
	}
	return nil, refusal
}

// connect tries some of the addresses, in order. Each has an equal part of the remaining time.
func (d *Dialer) connect(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error) {
	addresses = addresses[:min(len(addresses), maxAddresses)]
	var failures error
	for i, address := range addresses {
		connection, err := d.connectOne(ctx, address, len(addresses)-i)
		if err == nil {
			return connection, nil
		}
		failures = errors.Join(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failures
}

// connectOne takes at most one of the parts of the remaining time.
func (d *Dialer) connectOne(ctx context.Context, address netip.AddrPort, parts int) (net.Conn, error) {
	if deadline, has := ctx.Deadline(); has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
		defer cancel()
	}
	return d.config.Connect(ctx, address)
}
