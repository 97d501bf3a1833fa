package externalscaler

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

const (
	// dialTimeout bounds one attempt to connect, the TLS handshake included.
	dialTimeout = 3 * time.Second
	// dialsPerSecond and the burst bound the connections to a scaler that ends them.
	dialsPerSecond, dialBurst = 1, 2
	// maxBackoff is the longest time between attempts to connect to a scaler that refuses.
	maxBackoff = 5 * time.Second
	// maxMessageBytes and maxHeaderBytes bound the size of one response.
	maxMessageBytes = 1 << 20
	maxHeaderBytes  = 64 << 10
	// windowBytes bounds what a scaler may send on one stream ahead of reads: the minimum of HTTP/2.
	windowBytes = 64<<10 - 1
	bufferBytes = 4 << 10
	// A connection with calls under way on which nothing arrives is closed after silentAfter. Without it, a connection to
	// a lost node stays for a quarter of an hour.
	silentAfter = 20 * time.Second
)

// connection is a connection to a scaler. It is made again when it is lost.
type connection struct {
	target clientauth.Target
	dial   func(ctx context.Context) (net.Conn, error)
	auth   *clientauth.Client
	isTLS  bool
	client *grpc.ClientConn
	scaler pb.ExternalScalerClient
	// users is the number of metrics that share it. The pool's lock guards it.
	users int

	dials *rate.Limiter
	// limits bound the bytes that are read.
	limits []*limit

	// mu guards the following.
	mu sync.Mutex
	// failure is the reason why there is no connection; nil if there is one, or was none yet.
	failure error
	// rejection is the reason why the last connection ended after its TLS handshake; nil if it did not.
	rejection error
	// current is the connection, nil before the first.
	current *meteredConn
	// config is the TLS configuration of the current connection; nil without TLS.
	config *tls.Config
	// unanswered is when the first call began after the last bytes that arrived.
	unanswered time.Time
}

// newConnection does not connect yet.
func newConnection(config *Config, t *clientauth.Target) (*connection, error) {
	host, portText, err := net.SplitHostPort(t.Host)
	if err != nil {
		return nil, errors.New("scalerAddress: not HOST:PORT")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, errors.New("scalerAddress: the port must be 1 to 65535")
	}
	c := &connection{
		target: *t, auth: clientauth.New(config.Lookup, *t), isTLS: t.IsTLS,
		dials: rate.NewLimiter(dialsPerSecond, dialBurst),
		dial: func(ctx context.Context) (net.Conn, error) {
			return config.Dial(ctx, t.Namespace, host, uint16(port)) //nolint:gosec // it has 16 bits
		},
	}
	transport := insecure.NewCredentials()
	if t.IsTLS {
		transport = &handshaker{connection: c}
	}
	if c.client, err = grpc.NewClient("passthrough:///"+t.Host, c.options(transport)...); err != nil {
		return nil, errors.New("scalerAddress: not HOST:PORT")
	}
	c.scaler = pb.NewExternalScalerClient(c.client)
	return c, nil
}

// options take nothing from the environment, DNS or the scaler.
func (c *connection) options(transport credentials.TransportCredentials) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.connect(ctx) }),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: dialTimeout,
			Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 2, Jitter: 0.2, MaxDelay: maxBackoff},
		}),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
	}
}

// connect makes one attempt, after waiting for the limiter.
func (c *connection) connect(ctx context.Context) (net.Conn, error) {
	if err := c.dials.Wait(ctx); err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config, c.unanswered = nil, time.Time{}
	if err != nil || !c.isTLS {
		c.failure = err
	}
	if err != nil {
		return nil, err
	}
	c.current = newMeteredConn(conn, c.limits)
	return c.current, nil
}

// check reports why the scaler must not be called: a Secret is missing, or is no longer permitted. When Secrets have
// changed, it closes the connection, so that gRPC makes another.
func (c *connection) check(ctx context.Context) error {
	material, err := c.auth.Get(ctx)
	if err != nil && ctx.Err() != nil {
		return errors.New("tlsConfig: its Secrets were not read in time")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config != nil && material.TLS != c.config {
		c.config = nil
		_ = c.current.Close()
	}
	return err
}

// timedOut is called when there was no response to a call that began at the time. A connection that
// is lost is closed.
func (c *connection) timedOut(began, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.failure != nil {
		return
	}
	if c.unanswered.IsZero() || c.current.lastRead().After(c.unanswered) {
		c.unanswered = began
	}
	if now.Sub(c.unanswered) >= silentAfter && !c.current.lastRead().After(c.unanswered) {
		_ = c.current.Close()
	}
}

// close ends the connection at once. gRPC would wait for a scaler that reads nothing.
func (c *connection) close() {
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current != nil {
		_ = current.Close()
	}
	_ = c.client.Close()
}

// why returns the reason why there is no connection; nil if it is unknown, or if there is one.
func (c *connection) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

func (c *connection) setFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// handshaken keeps the configuration of the connection. Only the first response shows that the server accepts it.
func (c *connection) handshaken(config *tls.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config, c.failure = config, c.rejection; c.failure == nil {
		c.failure = errNotServed
	}
}

func (c *connection) setRejection(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure, c.rejection = err, err
}
