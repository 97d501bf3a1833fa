package nodeagent

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// admission runs the handshakes of a listener. Accept returns connections whose handshake has succeeded, so that
// strangers count apart from clients, and silent ones take no slot of a client.
type admission struct {
	net.Listener
	config *tls.Config
	// ready passes the connections of clients.
	ready chan net.Conn
	// once starts accepting with the first Accept.
	once sync.Once
	// ctx ends with Close.
	ctx   context.Context //nolint:containedctx // handshakes end when the listener is closed
	close context.CancelCauseFunc

	// mu guards the following.
	mu sync.Mutex
	// strangers are connections without a handshake yet, the oldest in front.
	strangers *list.List
	clients   int
}

func newAdmission(listener net.Listener, config *tls.Config) *admission {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &admission{
		Listener: listener, config: config, ready: make(chan net.Conn), ctx: ctx, close: cancel, strangers: list.New(),
	}
}

// Accept implements net.Listener.
func (a *admission) Accept() (net.Conn, error) {
	a.once.Do(func() { go a.run() })
	select {
	case connection := <-a.ready:
		return connection, nil
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
}

// Close implements net.Listener.
func (a *admission) Close() error {
	a.close(net.ErrClosed)
	return a.Listener.Close()
}

// run accepts connections until the listener is closed. Any other error, such as too many open files, is temporary, or
// concerns one connection.
func (a *admission) run() {
	pause := time.Duration(0)
	for a.ctx.Err() == nil {
		connection, err := a.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			go a.admit(connection, a.enter(connection))
		case errors.Is(err, net.ErrClosed):
			a.close(err)
		default:
			pause = min(max(shortestPause, 2*pause), longestPause)
			select {
			case <-time.After(pause):
			case <-a.ctx.Done():
			}
		}
	}
}

// The backoff of accepting connections: after one error, and after many.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// enter counts an unauthenticated connection. Beyond the limit, the oldest one of the address with the most is
// closed: an address that opens many connections displaces only its own.
func (a *admission) enter(connection net.Conn) *list.Element {
	a.mu.Lock()
	defer a.mu.Unlock()
	added := a.strangers.PushBack(connection)
	if a.strangers.Len() > maxStrangers {
		a.expelLocked()
	}
	return added
}

// expelLocked closes a stranger's connection.
func (a *admission) expelLocked() {
	count, most := map[string]int{}, 0
	for e := a.strangers.Front(); e != nil; e = e.Next() {
		host := hostOf(e)
		count[host]++
		most = max(most, count[host])
	}
	for e := a.strangers.Front(); e != nil; e = e.Next() {
		if count[hostOf(e)] == most {
			expelled, _ := a.strangers.Remove(e).(net.Conn)
			_ = expelled.Close()
			return
		}
	}
}

// hostOf returns the address of a stranger, without the port.
func hostOf(stranger *list.Element) string {
	connection, _ := stranger.Value.(net.Conn)
	host, _, _ := net.SplitHostPort(connection.RemoteAddr().String()) // Connections without a host count as one host.
	return host
}

// admit passes on a connection if its handshake succeeds, and there is room for a client.
func (a *admission) admit(connection net.Conn, stranger *list.Element) {
	client := &admitted{Conn: connection, of: a}
	secured := tls.Server(client, a.config)
	ctx, cancel := context.WithTimeout(a.ctx, handshakeTimeout)
	defer cancel()
	err := secured.HandshakeContext(ctx)
	a.mu.Lock()
	a.strangers.Remove(stranger)
	if err == nil && a.clients < maxClients {
		client.isCounted = true
		a.clients++
	}
	isAdmitted := client.isCounted
	a.mu.Unlock()
	if !isAdmitted {
		_ = connection.Close()
		return
	}
	select {
	case a.ready <- secured:
	case <-a.ctx.Done():
		_ = client.Close()
	}
}

// admitted is the connection of a client, once it is counted.
type admitted struct {
	net.Conn
	of *admission
	// isCounted is guarded by the admission's mu.
	isCounted bool
}

// Close implements net.Conn.
func (c *admitted) Close() error {
	c.of.mu.Lock()
	if c.isCounted {
		c.isCounted = false
		c.of.clients--
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}
