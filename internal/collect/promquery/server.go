package promquery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

const (
	maxBody        = 1 << 20
	maxHeader      = 64 << 10
	idleTimeout    = 90 * time.Second
	secretsTimeout = 5 * time.Second
	resolveTimeout = 3 * time.Second
	maxConnections = 2 * maxPerServer
	// After toleratedTimeouts in a row a server is polled less often: after shortestPause, which doubles with each further
	// timeout up to longestPause.
	toleratedTimeouts = 2
	shortestPause     = 2 * time.Second
	longestPause      = time.Minute
)

// server shares connections: with the same credentials, for one namespace.
type server struct {
	target clientauth.Target
	// address is its URL without a path, for errors.
	address string
	log     logr.Logger
	resolve func(ctx context.Context) (connect func(context.Context) (net.Conn, error), err error)
	auth    *clientauth.Client

	// The Source's lock guards the following. polls counts those of the server; queue holds those that are due.
	polls     int
	namespace *namespace
	queue     *queue
	// timeouts counts timeouts in a row; the last was counted at judged.
	timeouts int
	judged   time.Time
	// backoffUntil is the time of the next request.
	backoffUntil time.Time
	// isLimited is true while its namespace is above bytesPerSecond.
	isLimited bool

	// received is the number of bytes that it has sent since the last charge.
	received  atomic.Int64
	resolving resolving

	// mu guards the following.
	mu sync.Mutex
	// transport has the connections with this TLS configuration.
	transport *http.Transport
	config    *tls.Config
}

func newServer(config *Config, r *request) *server {
	v := &server{
		target: r.target, address: "http://" + r.target.Host, auth: clientauth.New(config.Credential, r.target),
		log: config.Log,
	}
	if r.target.IsTLS {
		v.address = "https://" + r.target.Host
	}
	v.resolve = func(ctx context.Context) (func(context.Context) (net.Conn, error), error) {
		host, port, err := hostAndPort(r.target.Host)
		if err != nil {
			return nil, err
		}
		return config.Resolve(ctx, r.target.Namespace, host, port)
	}
	return v
}

// resolving counts connections that wait for the address of a server.
type resolving struct {
	underWay atomic.Int32
	// failed is the time of the last failure, in nanoseconds since 1970.
	failed atomic.Int64
}

// isFailing reports whether a lookup is under way, or has failed since a request began.
func (r *resolving) isFailing(began time.Time) bool {
	return r.underWay.Load() > 0 || r.failed.Load() >= began.UnixNano()
}

// end removes a waiting connection. A failure is recorded first.
func (r *resolving) end(err error) {
	if err != nil {
		r.failed.Store(time.Now().UnixNano())
	}
	r.underWay.Add(-1)
}

func (v *server) dial(ctx context.Context) (net.Conn, error) {
	v.resolving.underWay.Add(1)
	bounded, cancel := context.WithTimeout(ctx, resolveTimeout)
	connect, err := v.resolve(bounded)
	cancel()
	v.resolving.end(err)
	if err != nil {
		return nil, &dialError{err, true}
	}
	connection, err := connect(ctx)
	if err != nil {
		return nil, &dialError{err, false}
	}
	return &countedConn{connection, &v.received}, nil
}

// countedConn counts the bytes received.
type countedConn struct {
	net.Conn

	received *atomic.Int64
}

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func hostAndPort(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	return host, uint16(number), err
}

// isBackedOff reports whether it is polled less often, and one request at a time.
func (v *server) isBackedOff() bool { return v.timeouts >= toleratedTimeouts }

// judge counts timeouts. It reports whether the server is backed off until backoffUntil. Requests that ran together
// count once.
func (v *server) judge(r *result, now time.Time) bool {
	switch {
	case !r.isTimeout:
		v.timeouts, v.backoffUntil, v.queue.Limit = 0, time.Time{}, maxPerServer
		return false
	case r.asked.Before(v.judged):
		return false
	}
	v.timeouts++
	v.judged = now
	if !v.isBackedOff() {
		return false
	}
	v.queue.Limit = 1
	pause := shortestPause
	for n := toleratedTimeouts; n < v.timeouts && pause < longestPause; n++ {
		pause *= 2
	}
	v.backoffUntil = now.Add(min(pause, longestPause))
	return true
}

// failure returns the error, or that the server is polled less often.
func (v *server) failure(err error) error {
	switch {
	case v.isLimited:
		err = fmt.Errorf("the servers of the namespace send more than %d bytes per second", bytesPerSecond)
	case v.isBackedOff():
		// The text stays the same from one time to the next, so that events are counted together.
		err = errors.New("no answer in time, several times in a row: it is polled less often")
	}
	return v.failed(err)
}

// failed names the server.
func (v *server) failed(err error) error { return fmt.Errorf("serverAddress %s: %w", v.address, err) }

func (v *server) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.transport != nil {
		v.transport.CloseIdleConnections()
	}
}

// connections returns the transport for the TLS configuration. It makes another after a Secret has changed.
func (v *server) connections(config *tls.Config) *http.Transport {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.transport != nil && v.config == config {
		return v.transport
	}
	if v.transport != nil {
		v.transport.CloseIdleConnections()
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	v.config = config
	v.transport = &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return v.dial(ctx) },
		TLSClientConfig: config, TLSHandshakeTimeout: 5 * time.Second, Protocols: &protocols,
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost: maxPerServer, MaxConnsPerHost: maxConnections, IdleConnTimeout: idleTimeout,
	}
	return v.transport
}

// query makes one request, within the timeout. A panic while reading the response is an error of this request alone.
func (v *server) query(ctx context.Context, r *request, timeout time.Duration) (answer *result) {
	defer func() {
		if cause := recover(); cause != nil {
			panics.Report(cause, v.log, nil, "reading the response of a Prometheus server failed", "server", v.address,
				"namespace", v.target.Namespace)
			answer = &result{err: v.failed(errors.New("its answer cannot be read"))}
		}
	}()
	material, err := v.material(ctx)
	if err != nil {
		return &result{err: err}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, status, err := v.exchange(ctx, r, material, timeout)
	switch {
	case err != nil && isTimeout(ctx, err) && v.resolving.isFailing(began):
		return &result{err: v.failed(errUnresolved)}
	case err != nil && errors.Is(context.Cause(ctx), errDisplaced):
		return &result{err: v.failed(errDisplaced), isTimeout: true}
	case err != nil && isTimeout(ctx, err):
		return &result{err: v.failed(fmt.Errorf("no answer within %s", timeout)), isTimeout: true}
	case err != nil:
		return &result{err: v.failed(describe(err))}
	case status != http.StatusOK:
		return &result{err: v.failed(statusError(status, body))}
	}
	answer = read(body, time.Now())
	if answer.err != nil {
		answer.err = fmt.Errorf("query to %s: %w", v.address, answer.err)
	}
	return answer
}

// material does not take from the time of the server: the API server may be slow.
func (v *server) material(ctx context.Context) (clientauth.Material, error) {
	ctx, cancel := context.WithTimeout(ctx, secretsTimeout)
	defer cancel()
	return v.auth.Get(ctx)
}

// exchange does not follow redirects, and sends and keeps no cookies.
func (v *server) exchange(
	ctx context.Context, r *request, material clientauth.Material, timeout time.Duration,
) (body []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"?"+r.parameters(timeout), http.NoBody)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "plimsoll")
	if material.Authorization != "" {
		request.Header.Set("Authorization", material.Authorization)
	}
	if r.tenant != "" {
		request.Header.Set(r.tenantHeader, r.tenant)
	}
	response, err := v.connections(material.TLS).RoundTrip(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, 0, errEncoded
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errTooLong
	}
	return body, response.StatusCode, err
}
