package externalscaler

import (
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

const (
	// bytesPerSecond and the burst bound what a scaler may send to the objects of a namespace, on all connections together
	// and across new ones, and with it the CPU that it costs: an empty frame of HTTP/2 has nine bytes. It is more than the
	// responses for a thousand metrics.
	bytesPerSecond, bytesBurst = 256 << 10, 4 << 20
	// namespaceBytesPerSecond and the burst bound what all scalers of a namespace send.
	namespaceBytesPerSecond, namespaceBytesBurst = 2 << 20, 16 << 20
)

// limits holds the limits of scalers, which outlast their connections, and of namespaces. The pool's lock guards them.
type limits struct {
	targets    map[clientauth.Target]*limit
	namespaces map[string]*limit
}

// limit is a limiter that is kept until it is unused and its bucket is full again.
type limit struct {
	*rate.Limiter

	users int
}

func newLimits() limits {
	return limits{targets: map[clientauth.Target]*limit{}, namespaces: map[string]*limit{}}
}

// acquire returns the limits for one more connection.
func (l *limits) acquire(t clientauth.Target) []*limit {
	tidy(l.targets)
	tidy(l.namespaces)
	return []*limit{
		acquire(l.targets, t, bytesPerSecond, bytesBurst),
		acquire(l.namespaces, t.Namespace, namespaceBytesPerSecond, namespaceBytesBurst),
	}
}

func acquire[K comparable](all map[K]*limit, key K, perSecond rate.Limit, burst int) *limit {
	if all[key] == nil {
		all[key] = &limit{Limiter: rate.NewLimiter(perSecond, burst)}
	}
	all[key].users++
	return all[key]
}

// tidy removes unused limits with full buckets.
func tidy[K comparable](all map[K]*limit) {
	maps.DeleteFunc(all, func(_ K, l *limit) bool { return l.users == 0 && l.Tokens() >= float64(l.Burst()) })
}

// meteredConn limits the bytes read per second. Only one goroutine reads it.
type meteredConn struct {
	net.Conn

	limits []*limit
	// closed ends wait; close closes it once.
	closed chan struct{}
	close  func()
	// last is the time of the last read, in nanoseconds since 1970.
	last atomic.Int64
}

func newMeteredConn(conn net.Conn, limits []*limit) *meteredConn {
	m := &meteredConn{Conn: conn, limits: limits, closed: make(chan struct{})}
	m.close = sync.OnceFunc(func() { close(m.closed) })
	m.last.Store(time.Now().UnixNano())
	return m
}

// Read implements net.Conn.
func (m *meteredConn) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if n > 0 {
		now := time.Now()
		m.last.Store(now.UnixNano())
		// The buffers of gRPC and TLS are small, so the wait is short.
		var wait time.Duration
		for _, l := range m.limits {
			wait = max(wait, l.ReserveN(now, n).DelayFrom(now))
		}
		if !m.wait(wait) {
			return n, net.ErrClosed
		}
	}
	return n, err
}

// wait waits, and returns false if the connection is closed before the end.
func (m *meteredConn) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.closed:
		return false
	}
}

// Write implements net.Conn. A failure closes the connection: gRPC tries calls on the connection again, without a
// pause, until reading fails too, and a scaler that has closed it may have sent bytes that take seconds to read.
func (m *meteredConn) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	if err != nil {
		_ = m.Close()
	}
	return n, err
}

// Close implements net.Conn.
func (m *meteredConn) Close() error {
	m.close()
	return m.Conn.Close()
}

func (m *meteredConn) lastRead() time.Time { return time.Unix(0, m.last.Load()) }
