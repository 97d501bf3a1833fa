package scaler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

// Config configures a Server.
type Config struct {
	// Listener may be nil: a free port of 127.0.0.1. The server closes it.
	Listener net.Listener
	// TLS is nil for a server without.
	TLS *tls.Config
	// IsPollOnly leaves out StreamIsActive, as scalers for KEDA's trigger external do.
	IsPollOnly bool
}

// Server is a running scaler.
type Server struct {
	// Faults can be changed while the server runs.
	Faults *Faults

	address string
	states  *states
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // of the run; read after done is closed
}

// Serve starts the scaler. It runs until ctx ends or Close is called. Several can run in one process.
func Serve(ctx context.Context, config Config) (*Server, error) {
	listener := config.Listener
	if listener == nil {
		var lc net.ListenConfig
		var err error
		if listener, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("external scaler: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{
		Faults: &Faults{}, address: listener.Addr().String(), states: newStates(), cancel: cancel,
		done: make(chan struct{}),
	}
	var options []grpc.ServerOption
	if config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config.TLS)))
	}
	server := grpc.NewServer(options...)
	pb.RegisterExternalScalerServer(server, &service{faults: s.Faults, states: s.states, isPollOnly: config.IsPollOnly})
	stop := context.AfterFunc(ctx, server.Stop)
	go func() {
		defer close(s.done)
		defer stop()
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			s.err = fmt.Errorf("external scaler: %w", err)
		}
	}()
	return s, nil
}

// Address is HOST:PORT.
func (s *Server) Address() string { return s.address }

// Set sets what is answered about an object. An empty namespace and name mean all others.
func (s *Server) Set(namespace, name string, state State) {
	s.states.set(object{namespace, name}, state)
}

// Push reports on the object's open streams whether it is active, and returns their number. What IsActive answers
// stays.
func (s *Server) Push(namespace, name string, isActive bool) int {
	return s.states.push(object{namespace, name}, isActive)
}

// Calls counts the calls of a kind, for all objects.
func (s *Server) Calls(call Call) int { return s.states.called(call) }

// Close ends the server and returns why it ended if that was not its end by Close or context.
func (s *Server) Close() error {
	s.cancel()
	<-s.done
	return s.err
}
