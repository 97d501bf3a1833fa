package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// forwarder stands for the Service of the API server, which no kube-proxy serves here: pods find it at the address that
// their environment names, and the server itself stays on loopback.
type forwarder struct {
	listener net.Listener
	server   string // host:port
	done     sync.WaitGroup

	mu          sync.Mutex
	connections map[net.Conn]struct{} // guarded by mu; nil once closed
}

// forward begins to pass on connections from an address to a server.
func forward(ctx context.Context, address, server string) (*forwarder, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the API server's Service: %w", err)
	}
	f := &forwarder{listener: listener, server: server, connections: map[net.Conn]struct{}{}}
	f.done.Go(f.accept)
	return f, nil
}

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		f.done.Go(func() { f.pass(client) })
	}
}

func (f *forwarder) pass(client net.Conn) {
	if !f.keep(client) {
		return
	}
	defer f.drop(client)
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", f.server)
	if err != nil || !f.keep(server) {
		return // the client's connection closes, as the server's would
	}
	defer f.drop(server)
	var both sync.WaitGroup
	both.Go(func() { copyThenClose(server, client) })
	both.Go(func() { copyThenClose(client, server) })
	both.Wait()
}

// copyThenClose copies one direction and then closes its write side. The ends detect errors themselves.
func copyThenClose(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// keep stores a connection, or closes it if the forwarder is closed.
func (f *forwarder) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connections == nil {
		_ = c.Close()
		return false
	}
	f.connections[c] = struct{}{}
	return true
}

func (f *forwarder) drop(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = c.Close()
	delete(f.connections, c)
}

// close ends every connection and waits for the goroutines.
func (f *forwarder) close() error {
	err := f.listener.Close()
	f.mu.Lock()
	for c := range f.connections {
		err = errors.Join(err, c.Close())
	}
	f.connections = nil
	f.mu.Unlock()
	f.done.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("the API server's Service: %w", err)
	}
	return nil
}
