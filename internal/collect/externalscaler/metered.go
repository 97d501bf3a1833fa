package externalscaler

import (
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// bytesPerSecond and the burst bound what a scaler may send on a connection, and with it the CPU
	// that it costs: a frame of HTTP/2 that means nothing has nine bytes. It is far more than the
	// responses for all metrics of a connection.
	bytesPerSecond, bytesBurst = 256 << 10, 4 << 20
)

// meteredConn bounds what is read in a second. It is read by one goroutine.
type meteredConn struct {
	net.Conn

	bytes *rate.Limiter
	// last is when something was read, in nanoseconds since 1970.
	last atomic.Int64
}

func newMeteredConn(conn net.Conn) *meteredConn {
	m := &meteredConn{Conn: conn, bytes: rate.NewLimiter(bytesPerSecond, bytesBurst)}
	m.last.Store(time.Now().UnixNano())
	return m
}

// Read implements net.Conn.
func (m *meteredConn) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if n > 0 {
		now := time.Now()
		m.last.Store(now.UnixNano())
		// The buffers of gRPC and TLS are small, so the sleep is short.
		time.Sleep(m.bytes.ReserveN(now, n).DelayFrom(now))
	}
	return n, err
}

func (m *meteredConn) lastRead() time.Time { return time.Unix(0, m.last.Load()) }
