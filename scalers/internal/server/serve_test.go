package server

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// serving is a server of a test, in front of a process.
type serving struct {
	client  pb.ExternalScalerClient
	end     context.CancelFunc
	ended   chan error
	pending chan error
	// processes is done when the processes may end.
	processes context.Context
}

// serve runs a server with one request in progress.
func serve(t *testing.T, p *process, timeout time.Duration) *serving {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	s := &serving{end: end, ended: make(chan error, 1), pending: make(chan error, 1)}
	listener := bufconn.Listen(1 << 16)
	g := grpc.NewServer()
	pb.RegisterExternalScalerServer(g, &Server{Objects: &cluster{trigger: "redis"}, Processes: p})
	started := make(chan context.Context)
	go func() {
		s.ended <- Serve(ctx, g, listener, timeout, Lasting(func(ctx context.Context) { started <- ctx; <-ctx.Done() }))
	}()
	s.processes = <-started
	s.client = pb.NewExternalScalerClient(dial(t, listener))
	arrived := make(chan struct{})
	isActive := p.isActive
	p.isActive = func() { close(arrived); isActive() }
	go func() {
		_, err := s.client.IsActive(t.Context(), request("shop", "redis"))
		s.pending <- err
	}()
	<-arrived
	return s
}

// The processes end after the requests in progress.
func TestServeFinishesRequests(t *testing.T) {
	p, proceed := start(t), make(chan struct{})
	p.isActive = func() { <-proceed }
	s := serve(t, p, time.Minute)
	s.end()
	if _, err := s.client.GetMetricSpec(t.Context(), request("shop", "redis")); err == nil {
		// It may be accepted before the server knows of the end.
		waitFor(t, func() bool {
			_, err := s.client.GetMetricSpec(t.Context(), request("shop", "redis"))
			return err != nil
		})
	}
	if s.processes.Err() != nil {
		t.Error("the processes end during a request")
	}
	close(proceed)
	if err := <-s.pending; err != nil {
		t.Errorf("the request in progress: %v", err)
	}
	if err := <-s.ended; err != nil || s.processes.Err() == nil {
		t.Errorf("got %v, the processes: %v; want that both have ended", err, s.processes.Err())
	}
}

// A request that does not end delays the end no longer than the timeout.
func TestServeEndsWithoutARequestThatHangs(t *testing.T) {
	p, proceed := start(t), make(chan struct{})
	defer close(proceed)
	p.isActive = func() { <-proceed }
	s := serve(t, p, 50*time.Millisecond)
	s.end()
	if err := <-s.pending; err == nil {
		t.Error("the request has a response")
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// A part that fails ends the server and the other parts, and the program has its error.
func TestServeEndsWithAnError(t *testing.T) {
	failure, hasEnded := errors.New("no socket"), false
	err := Serve(t.Context(), grpc.NewServer(), bufconn.Listen(1<<16), time.Minute,
		Lasting(func(ctx context.Context) { <-ctx.Done(); hasEnded = true }),
		func(context.Context) error { return failure })
	if !errors.Is(err, failure) || !hasEnded {
		t.Errorf("got %v, the other part has ended: %v", err, hasEnded)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(10 * time.Second); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("too late")
		}
	}
}
