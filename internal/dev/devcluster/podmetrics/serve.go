// Package podmetrics serves /metrics of many simulated pods in one process. All of them have addresses in 127.0.0.0/8,
// which Linux routes to this machine without any setup. One listener has the same port on all of them; the local
// address of a connection identifies the pod.
//
// It supports as much of HTTP/1.1 as scrapers need, over connections that stay open: 10,000 pods that are scraped every
// second take a fraction of a core.
package podmetrics

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Config configures a Server.
type Config struct {
	// Append appends the page of the pod with an address. Of an address without a pod it returns false: the connection
	// ends without an answer. It is called from many goroutines.
	Append func(page []byte, address netip.Addr) ([]byte, bool)
	// Answered is called after a pod's page has been sent; it may be nil.
	Answered func(address netip.Addr)
}

// Server serves until Close.
type Server struct {
	config   Config
	listener *net.TCPListener
	port     int
	serving  sync.WaitGroup

	mu          sync.Mutex
	connections map[*net.TCPConn]bool // guarded by mu; nil once closed
}

// Ports are chosen below those that outgoing connections get, so that none of them takes one before it is used.
const (
	firstPort = 20000
	lastPort  = 32000
	attempts  = 200
)

// Serve begins on a port that is free on all addresses.
func Serve(ctx context.Context, config Config) (*Server, error) {
	if config.Append == nil {
		return nil, errors.New("pods' metrics: pages are needed")
	}
	var lc net.ListenConfig
	var last error
	for range attempts {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := lc.Listen(ctx, "tcp4", ":"+strconv.Itoa(port))
		if err != nil {
			last = err
			continue
		}
		tcp, isTCP := listener.(*net.TCPListener)
		if !isTCP {
			return nil, errors.Join(fmt.Errorf("pods' metrics: %T is no listener of TCP", listener), listener.Close())
		}
		s := &Server{config: config, listener: tcp, port: port, connections: map[*net.TCPConn]bool{}}
		s.serving.Go(s.accept)
		return s, nil
	}
	return nil, fmt.Errorf("pods' metrics: no free port between %d and %d: %w", firstPort, lastPort, last)
}

// Port is the same for all pods.
func (s *Server) Port() int { return s.port }

// Close ends all connections.
func (s *Server) Close() {
	_ = s.listener.Close() // ends accept
	s.mu.Lock()
	open := s.connections
	s.connections = nil
	s.mu.Unlock()
	for connection := range open {
		_ = connection.Close() // ends its goroutine
	}
	s.serving.Wait()
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client is gone, or there is no descriptor for it
		}
		if !s.add(connection) {
			_ = connection.Close() // nothing was written
			continue
		}
		s.serving.Go(func() {
			defer s.remove(connection)
			s.serve(connection)
		})
	}
}

// add refuses what does not come from this machine: the listener has its other addresses as well.
func (s *Server) add(connection *net.TCPConn) bool {
	if !podOf(connection).IsLoopback() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == nil {
		return false
	}
	s.connections[connection] = true
	return true
}

func (s *Server) remove(connection *net.TCPConn) {
	_ = connection.Close() // its end is all that matters
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, connection)
}

// podOf is the address that a connection leads to.
func podOf(connection *net.TCPConn) netip.Addr {
	local, isTCP := connection.LocalAddr().(*net.TCPAddr)
	if !isTCP {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap()
}
