package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const mib = 1 << 20

// memory and files are the most for a process.
const (
	memory = 200 * mib
	files  = 2 * mib
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
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	state := health.NewServer()
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, state)
	switch kind {
	case "ends":
		return errors.New("ends at once")
	case "panics":
		go panic("in a goroutine of a library")
	case "unresponsive":
		// It accepts no connection.
		<-terminated
	case "hanging":
		state.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	case "greedy":
		if err := LimitMemory(memory); err != nil {
			return err
		}
		// Memory that is not used: the supervisor does not end the process for it.
		greedy := make([]byte, 4*memory)
		defer func() { _ = greedy[0] }()
	case "large":
		held := allocate(300 * mib)
		defer func() { _ = held[0] }()
	case "writes":
		err = errors.Join(writeTemporary("a", 2*mib), writeTemporary("b", mib))
	case "writes-little":
		err = writeTemporary("key.pem", 10)
	case "environment":
		err = checkEnvironment()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	if err != nil {
		return err
	}
	go func() { <-terminated; _ = os.WriteFile(socket+".graceful", nil, 0o600); g.Stop() }()
	return g.Serve(listener)
}

func checkEnvironment() error {
	_, hasServer := os.LookupEnv("KUBERNETES_SERVICE_HOST")
	if text := fmt.Sprintf("%s %t", os.Getenv("OF_CONFIG"), hasServer); text != "given false" {
		return errors.New(text)
	}
	return nil
}

func allocate(bytes int) []byte {
	held := make([]byte, bytes)
	for i := range held {
		held[i] = byte(i)
	}
	return held
}

func writeTemporary(name string, bytes int) error {
	return os.WriteFile(filepath.Join(os.TempDir(), name), make([]byte, bytes), 0o600)
}

// start runs a supervisor until the test ends, or until the function that it returns is called.
func start(t *testing.T, options ...func(*Supervisor)) (*Supervisor, func()) {
	t.Helper()
	s := New(Config{
		Command:   func(kind, socket string) []string { return []string{"process", kind, socket} },
		Directory: t.TempDir(), Memory: memory, TotalMemory: 2*memory + 1, TemporaryFiles: files, Log: logr.Discard(),
	})
	for _, option := range options {
		option(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	return s, stop
}

func connect(t *testing.T, s *Supervisor, kind string) *grpc.ClientConn {
	t.Helper()
	connection, err := s.Connection(kind)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func request(t *testing.T, s *Supervisor, kind string) error {
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

// process returns the latest process of a type; nil before the first one.
func (s *Supervisor) process(kind string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.types[kind]; t != nil {
		return t.process
	}
	return nil
}

func waitForEnd(t *testing.T, p *process) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the process of type %s still runs", p.trigger)
	}
}

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("too late: " + what)
		}
	}
}

func TestOneProcessForAType(t *testing.T) {
	s, _ := start(t)
	for range 3 {
		if err := request(t, s, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := request(t, s, "b"); err != nil {
		t.Fatal(err)
	}
	if a, b := s.process("a"), s.process("b"); a.pid() == b.pid() || s.running != 2 {
		t.Errorf("processes %d and %d of %d, want two", a.pid(), b.pid(), s.running)
	}
}

func TestEndedProcessStartsAgainLater(t *testing.T) {
	s, _ := start(t)
	connect(t, s, "ends")
	first := s.process("ends")
	waitForEnd(t, first)
	var ended *EndedError
	if _, err := s.Connection("ends"); !errors.As(err, &ended) || ended.In <= 0 || ended.In > firstDelay {
		t.Errorf("got %v within a second, want that it ended", err)
	}
	if err := request(t, s, "a"); err != nil {
		t.Errorf("another type: %v", err)
	}
	waitFor(t, "another process", func() bool {
		_, _ = s.Connection("ends")
		return s.process("ends") != first
	})
	second := s.process("ends")
	if pause := second.started.Sub(first.started); pause < firstDelay {
		t.Errorf("it started again after %s", pause)
	}
	waitForEnd(t, second)
	if _, err := s.Connection("ends"); !errors.As(err, &ended) || ended.In <= firstDelay/2 || ended.In > 2*firstDelay {
		t.Errorf("got %v after the second end, want about %s", err, 2*firstDelay)
	}
}

// The errors of metrics, a metric and the log say why a process ended, also to a request that was in progress.
func TestReasons(t *testing.T) {
	for kind, want := range map[string]struct {
		reason  Reason
		message string
	}{
		"large":        {Memory, "was ended: it used 30"},
		"greedy":       {Crashed, "ended: it crashed (exit status 2)"},
		"panics":       {Crashed, "ended: it crashed (exit status 2)"},
		"unresponsive": {Unresponsive, "was ended: it did not respond within 3s, 3 times in sequence"},
		"hanging":      {Hanging, "was ended: the calls of all its metrics did not end"},
		"writes":       {TemporaryFiles, "was ended: its temporary files had 3 MiB, more than its limit of 2 MiB"},
		"killed":       {Killed, "ended: something outside of plimsoll-scalers sent it a signal (killed)"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			s, _ := start(t, func(s *Supervisor) {
				registry.MustRegister(s.ends)
				if kind == "unresponsive" {
					s.startTimeout = 0
				}
			})
			connection := connect(t, s, kind)
			p := s.process(kind)
			if kind == "killed" {
				if err := p.command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			waitForEnd(t, p)
			err := s.WhyEnded(t.Context(), kind, connection)
			var ended *EndedError
			if !errors.As(err, &ended) || ended.Reason != want.reason ||
				!strings.HasPrefix(err.Error(), "the process of type "+kind+" "+want.message) {
				t.Errorf("got %v, want %s", err, want.message)
			}
			if got := endsOf(t, registry, kind, want.reason); got != 1 {
				t.Errorf("the metric has %v ends for this reason", got)
			}
			if err := request(t, s, "a"); err != nil {
				t.Errorf("another type: %v", err)
			}
		})
	}
}

// endsOf returns the value of the metric for a type and a reason.
func endsOf(t *testing.T, registry *prometheus.Registry, kind string, reason Reason) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["type"] == kind && labels["reason"] == string(reason) {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// A request that finds the connection broken waits until the end of the process is known, and may come after the next
// start.
func TestReasonOfARequestInProgress(t *testing.T) {
	s, _ := start(t, func(s *Supervisor) { s.startTimeout = 0 })
	connection := connect(t, s, "unresponsive")
	if err := request(t, s, "unresponsive"); err == nil {
		t.Fatal("it responds")
	}
	for _, isRestarted := range []bool{false, true} {
		if isRestarted {
			waitFor(t, "the next process", func() bool { _, err := s.Connection("unresponsive"); return err == nil })
		}
		var ended *EndedError
		if err := s.WhyEnded(t.Context(), "unresponsive", connection); !errors.As(err, &ended) ||
			ended.Reason != Unresponsive || ended.IsRestarted != isRestarted {
			t.Errorf("got %v", err)
		}
	}
	if err := s.WhyEnded(t.Context(), "unresponsive", nil); err != nil {
		t.Errorf("of another connection: %v", err)
	}
}

// The limit of all processes counts before one of them is seen above its own.
func TestTotalMemory(t *testing.T) {
	s, _ := start(t, func(s *Supervisor) { s.config.Memory, s.config.TotalMemory = 1000*mib, 2000*mib })
	for _, kind := range []string{"large", "a"} {
		if err := request(t, s, kind); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	s.config.TotalMemory = 250 * mib
	s.mu.Unlock()
	p := s.process("large")
	waitForEnd(t, p)
	s.checkTotalMemory()
	if a := s.process("a"); p.reason != Memory || a.reason != "" ||
		!strings.HasPrefix(p.detail, "all processes used 3") ||
		!strings.Contains(p.detail, " MiB, more than their limit of 250 MiB, and it used most of it: 30") {
		t.Errorf("got %s and %q for the large process, %q for the other", p.reason, p.detail, a.detail)
	}
}

func TestMessage(t *testing.T) {
	e := &EndedError{
		Trigger: "kafka", Reason: Memory, Detail: tooMuch("it used", "its", 412*mib, 384*mib), In: 3100 * time.Millisecond,
	}
	const want = "the process of type kafka was ended: it used 412 MiB, more than its limit of 384 MiB; " +
		"it starts again in 4 s"
	if got := e.Error(); got != want {
		t.Errorf("got %s", got)
	}
	e.In = 0
	if got := e.Error(); !strings.HasSuffix(got, "; it starts again at the next request") {
		t.Errorf("got %s", got)
	}
	e.IsRestarted = true
	if got := e.Error(); !strings.HasSuffix(got, "; it has started again") {
		t.Errorf("got %s", got)
	}
}

// A health check that does not end delays no check of another process.
func TestChecksAreIndependent(t *testing.T) {
	s, _ := start(t, func(s *Supervisor) {
		s.checkHealth = func(ctx context.Context, connection *grpc.ClientConn) error {
			if strings.HasSuffix(connection.Target(), "slow.sock") {
				<-t.Context().Done()
			}
			return checkHealth(ctx, connection)
		}
	})
	connect(t, s, "slow")
	waitFor(t, "the health check", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.types["slow"].process.isChecked
	})
	for _, kind := range []string{"large", "writes"} {
		connect(t, s, kind)
		waitForEnd(t, s.process(kind))
	}
	if p := s.process("slow"); p.hasEnded {
		t.Errorf("the slow process ended: %s", p.detail)
	}
}

func TestTemporaryFiles(t *testing.T) {
	s, _ := start(t)
	for _, kind := range []string{"a", "writes-little"} {
		if err := request(t, s, kind); err != nil {
			t.Fatal(err)
		}
	}
	p := s.process("writes-little")
	if p.directory == s.process("a").directory {
		t.Error("two types share a directory")
	}
	if _, err := os.Stat(filepath.Join(p.directory, "key.pem")); err != nil {
		t.Error(err)
	}
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitForEnd(t, p)
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
}

// Empty files and directories use inodes.
func TestSizeOf(t *testing.T) {
	directory := t.TempDir()
	if got := sizeOf(directory); got != 0 {
		t.Errorf("an empty directory has %d bytes", got)
	}
	for name, bytes := range map[string]int{"empty": 0, "full": mib} {
		if err := os.WriteFile(filepath.Join(directory, name), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	const least = mib + 2*4096
	if got := sizeOf(directory); got < least || got > least+4*4096 {
		t.Errorf("got %d bytes, want %d", got, least)
	}
}

// Libraries do not find the API server, and a process gets what is for it alone.
func TestEnvironment(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	s, _ := start(t, func(s *Supervisor) { s.config.Environment = []string{"OF_CONFIG=given"} })
	if err := request(t, s, "environment"); err != nil {
		t.Error(err)
	}
}

func TestNoMoreProcessesThanMemory(t *testing.T) {
	s, _ := start(t)
	for _, kind := range []string{"a", "b", "a"} {
		if err := request(t, s, kind); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Connection("c")
	if err == nil || !strings.Contains(err.Error(), "--max-memory is 400 MiB") || s.process("c") != nil {
		t.Errorf("a third type: %v", err)
	}
}

// A process may take a minute to start, and one health check that succeeds makes up for those that failed.
func TestUnresponsive(t *testing.T) {
	s := New(Config{Log: logr.Discard()})
	began, failure := time.Now(), errors.New("no response")
	p := &process{started: began}
	for _, c := range []struct {
		err   error
		after time.Duration
		want  bool
	}{
		{failure, 2 * time.Second, false}, {failure, 5 * time.Second, false}, {failure, 59 * time.Second, false},
		{failure, 61 * time.Second, false}, {failure, 62 * time.Second, false}, {nil, 64 * time.Second, false},
		{failure, 65 * time.Second, false}, {failure, 66 * time.Second, false}, {failure, 67 * time.Second, true},
	} {
		if got := s.isUnresponsive(p, c.err, began.Add(c.after)); got != c.want {
			t.Errorf("after %s: %v", c.after, got)
		}
	}
}

// The pages of the program do not count, which all processes share.
func TestSharedMemoryDoesNotCount(t *testing.T) {
	measure := func() int64 {
		used, err := residentMemory(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	const bytes = 8 * mib
	before := measure()
	mapped, err := syscall.Mmap(int(program.Fd()), 0, bytes, syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	shared := measure() - before
	held := allocate(4 * bytes)
	own := measure() - before
	if shared > bytes/2 || own < 3*bytes {
		t.Errorf("%d MiB of the program count as %d MiB, and %d MiB of the heap as %d MiB",
			len(mapped)/mib, shared/mib, len(held)/mib, own/mib)
	}
	if err := syscall.Munmap(mapped); err != nil {
		t.Error(err)
	}
}

// Processes get the time to close their scalers, and none is left when Run returns.
func TestProcessesEndWithTheSupervisor(t *testing.T) {
	s, stop := start(t, func(s *Supervisor) { s.stopTimeout = time.Second })
	for _, kind := range []string{"graceful", "stubborn"} {
		if err := request(t, s, kind); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	for _, kind := range []string{"graceful", "stubborn"} {
		if p := s.process(kind); !p.hasEnded || syscall.Kill(p.pid(), 0) == nil {
			t.Errorf("the process of type %s still runs", kind)
		}
	}
	if _, err := os.Stat(filepath.Join(s.config.Directory, "graceful.sock.graceful")); err != nil {
		t.Errorf("it was ended without a warning: %v", err)
	}
	if _, err := s.Connection("graceful"); err == nil {
		t.Error("it starts another process")
	}
}
