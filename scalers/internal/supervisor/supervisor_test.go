package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// TestMain makes this program a process of the supervisor, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "process" {
		if err := serveAs(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// serveAs behaves as the type says.
func serveAs(kind, socket string) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		return err
	}
	switch kind {
	case "ends":
		return errors.New("ends at once")
	case "silent":
		// It accepts no connection.
		select {}
	case "large":
		const mib = 1 << 20
		held := make([]byte, 300*mib)
		for i := range held {
			held[i] = byte(i)
		}
		defer func() { _ = held[0] }()
	}
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, health.NewServer())
	return g.Serve(listener)
}

func start(t *testing.T) *Supervisor {
	t.Helper()
	const memory = 200 << 20
	s := New(Config{
		Command:   func(kind, socket string) []string { return []string{"process", kind, socket} },
		Directory: t.TempDir(), Memory: memory, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func ask(t *testing.T, s *Supervisor, kind string) error {
	t.Helper()
	connection, err := s.Connection(kind)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

func (s *Supervisor) pid(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[kind]; p != nil && p.command != nil {
		return p.command.Process.Pid
	}
	return 0
}

// waitForEnd waits until the process has ended.
func waitForEnd(t *testing.T, s *Supervisor, kind string, pid int) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for s.pid(kind) == pid {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("the process of type %s still runs", kind)
		}
	}
}

func TestOneProcessForAType(t *testing.T) {
	s := start(t)
	for range 3 {
		if err := ask(t, s, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(t, s, "b"); err != nil {
		t.Fatal(err)
	}
	if a, b := s.pid("a"), s.pid("b"); a == 0 || b == 0 || a == b {
		t.Errorf("processes %d and %d, want two", a, b)
	}
}

func TestEndedProcessStartsAgainLater(t *testing.T) {
	s := start(t)
	if _, err := s.Connection("ends"); err != nil {
		t.Fatal(err)
	}
	first := s.pid("ends")
	waitForEnd(t, s, "ends", first)
	if _, err := s.Connection("ends"); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v within a second, want that it ended", err)
	}
	if err := ask(t, s, "a"); err != nil {
		t.Errorf("another type: %v", err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for s.pid("ends") == 0 {
		<-ticker.C
		if _, err := s.Connection("ends"); err != nil && !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
	}
	if s.pid("ends") == first {
		t.Error("the same process")
	}
}

func TestLargeProcessIsEnded(t *testing.T) {
	s := start(t)
	if _, err := s.Connection("large"); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, s, "large", s.pid("large"))
	if err := ask(t, s, "a"); err != nil {
		t.Errorf("another type: %v", err)
	}
}

func TestSilentProcessIsEnded(t *testing.T) {
	s := start(t)
	if _, err := s.Connection("silent"); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, s, "silent", s.pid("silent"))
}

func TestProcessesEndWithTheSupervisor(t *testing.T) {
	s := New(Config{
		Command:   func(kind, socket string) []string { return []string{"process", kind, socket} },
		Directory: t.TempDir(), Memory: 1 << 30, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	if err := ask(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	pid := s.pid("a")
	cancel()
	<-ended
	waitForEnd(t, s, "a", pid)
	if _, err := s.Connection("a"); err == nil {
		t.Error("it starts another process")
	}
}
