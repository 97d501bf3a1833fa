package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
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
	case "greedy":
		if err := LimitMemory(memory); err != nil {
			return err
		}
		// Memory that is not used: the supervisor does not end the process for it.
		greedy := make([]byte, 4*memory)
		defer func() { _ = greedy[0] }()
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

// memory is the most for a process.
const memory = 200 << 20

func start(t *testing.T) *Supervisor {
	t.Helper()
	s := New(Config{
		Command:   func(kind, socket string) []string { return []string{"process", kind, socket} },
		Directory: t.TempDir(), Memory: memory, TotalMemory: 2*memory + 1, Log: logr.Discard(),
	})
	s.beginsWithin = 0
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

func TestNoMoreProcessesThanMemory(t *testing.T) {
	s := start(t)
	for _, kind := range []string{"a", "b", "a"} {
		if err := ask(t, s, kind); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Connection("c")
	if err == nil || !strings.Contains(err.Error(), "--max-memory is 400 MiB") || s.pid("c") != 0 {
		t.Errorf("a third type: %v", err)
	}
}

// The kernel refuses a process memory, before the supervisor looks at it.
func TestGreedyProcessEnds(t *testing.T) {
	s := start(t)
	if _, err := s.Connection("greedy"); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, s, "greedy", s.pid("greedy"))
	if _, err := s.Connection("greedy"); err == nil || !strings.Contains(err.Error(), "exit status 2") {
		t.Errorf("got %v, want that it ended by itself", err)
	}
}

// A process may take a minute to begin, and what was asked of one that ended says nothing about the next.
func TestSilence(t *testing.T) {
	s := New(Config{Log: logr.Discard()})
	began, silence := time.Now(), errors.New("no answer")
	p := &process{started: began, command: &exec.Cmd{Process: &os.Process{Pid: 7}}}
	for _, c := range []struct {
		pid   int
		err   error
		after time.Duration
		want  bool
	}{
		{7, silence, 2 * time.Second, false}, {7, silence, 5 * time.Second, false}, {7, silence, 59 * time.Second, false},
		{7, silence, 61 * time.Second, false}, {7, silence, 62 * time.Second, false}, {6, silence, 63 * time.Second, false},
		{7, nil, 64 * time.Second, false}, {7, silence, 65 * time.Second, false}, {7, silence, 66 * time.Second, false},
		{7, silence, 67 * time.Second, true},
	} {
		if got := s.isSilent(watched{process: p, pid: c.pid}, c.err, began.Add(c.after)); got != c.want {
			t.Errorf("process %d after %s: %v", c.pid, c.after, got)
		}
	}
}

func TestSharedMemoryDoesNotCount(t *testing.T) {
	used, err := residentMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	if most := usage.Maxrss<<10 - mib; used <= 0 || used > most {
		t.Errorf("%d MiB of at most %d MiB: the program's pages count", used/mib, most/mib)
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
		Directory: t.TempDir(), Memory: 1 << 30, TotalMemory: 1 << 30, Log: logr.Discard(),
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
