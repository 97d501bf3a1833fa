// Package supervisor keeps a process for each type of trigger that is in use. It ends a process that does not answer or
// uses too much memory, and starts it again at the next request.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	// unused is how long a process runs after the last request for its type.
	unused = 20 * time.Minute
	// watchPeriod is the period at which processes are looked at.
	watchPeriod = 2 * time.Second
	// answerWithin bounds the answer of a process to the question whether it serves, and silent the number of questions
	// without one.
	answerWithin = 3 * time.Second
	mostSilent   = 3
	// firstRetry and lastRetry bound the time from the start of a process that ended to the next start. One that ran for
	// soundAfter starts again at once.
	firstRetry, lastRetry = time.Second, time.Minute
	soundAfter            = 5 * time.Minute
	// heapShare is the part of the memory that the garbage collector keeps to, in percent.
	heapShare = 80
)

// Config configures a Supervisor.
type Config struct {
	// Command returns the arguments of the process for a type, which listens at the path of a socket.
	Command func(trigger, socket string) []string
	// Directory is where the sockets are.
	Directory string
	// Memory is the most that a process may use, in bytes.
	Memory int64
	Log    logr.Logger
}

// Supervisor keeps the processes. It may be used by many goroutines.
type Supervisor struct {
	config Config

	mu        sync.Mutex
	processes map[string]*process
	isOver    bool
}

// process is the process for a type. The Supervisor's lock guards it.
type process struct {
	trigger string
	// command is nil while it does not run.
	command    *exec.Cmd
	connection *grpc.ClientConn
	started    time.Time
	used       time.Time
	silent     int
	// reason is why it ended last; delay is the time from its start to the next one.
	reason string
	delay  time.Duration
}

// New makes a Supervisor.
func New(config Config) *Supervisor {
	return &Supervisor{config: config, processes: map[string]*process{}}
}

// ErrEnded is why there is no connection: the process ended, and is not started again yet.
var ErrEnded = errors.New("the process of this type of trigger ended")

// Connection returns a connection to the process for a type. It starts the process if it does not run.
func (s *Supervisor) Connection(trigger string) (*grpc.ClientConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver {
		return nil, errors.New("the server ends")
	}
	now := time.Now()
	p := s.processes[trigger]
	if p == nil {
		p = &process{trigger: trigger}
		s.processes[trigger] = p
	}
	p.used = now
	if p.command != nil {
		return p.connection, nil
	}
	if next := p.started.Add(p.delay); now.Before(next) {
		return nil, fmt.Errorf("%w (%s); it is started again in %s", ErrEnded, p.reason, next.Sub(now).Round(time.Second))
	}
	if err := s.startLocked(p, now); err != nil {
		return nil, fmt.Errorf("starting the process of the type %s: %w", trigger, err)
	}
	return p.connection, nil
}

func (s *Supervisor) startLocked(p *process, now time.Time) error {
	socket := filepath.Join(s.config.Directory, p.trigger+".sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(context.Background(), program, s.config.Command(p.trigger, socket)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.FormatInt(s.config.Memory*heapShare/100, 10))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		return err
	}
	p.started, p.delay, p.silent = now, min(max(2*p.delay, firstRetry), lastRetry), 0
	if err := command.Start(); err != nil {
		_ = connection.Close()
		p.reason = err.Error()
		return err
	}
	p.command, p.connection = command, connection
	s.config.Log.Info("process started", "type", p.trigger, "pid", command.Process.Pid)
	go s.wait(p, command)
	return nil
}

// wait waits for the end of the process.
func (s *Supervisor) wait(p *process, command *exec.Cmd) {
	err := command.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.reason = "exit status 0"; err != nil {
		p.reason = err.Error()
	}
	if time.Since(p.started) > soundAfter {
		p.delay = 0
	}
	_ = p.connection.Close()
	p.command, p.connection = nil, nil
	s.config.Log.Info("process ended", "type", p.trigger, "reason", p.reason)
}

// Run watches the processes, until the context ends. Then it ends them.
func (s *Supervisor) Run(ctx context.Context) {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, p := range s.running() {
				s.watch(ctx, p)
			}
		case <-ctx.Done():
			s.end()
			return
		}
	}
}

// watched is a process at the moment in which it is looked at.
type watched struct {
	*process
	pid        int
	connection *grpc.ClientConn
	isUnused   bool
}

func (s *Supervisor) running() []watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []watched
	for _, p := range s.processes {
		if p.command != nil {
			all = append(all, watched{p, p.command.Process.Pid, p.connection, time.Since(p.used) > unused})
		}
	}
	return all
}

// watch ends the process if it is unused, too large, or silent.
func (s *Supervisor) watch(ctx context.Context, p watched) {
	if p.isUnused {
		s.kill(p, "unused")
		return
	}
	if used, err := residentMemory(p.pid); err == nil && used > s.config.Memory {
		s.kill(p, fmt.Sprintf("it uses %d MiB, more than %d MiB", used>>20, s.config.Memory>>20))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(p.connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	s.mu.Lock()
	if err == nil {
		p.silent = 0
	} else {
		p.silent++
	}
	isSilent := p.silent >= mostSilent
	s.mu.Unlock()
	if isSilent {
		s.kill(p, "it does not answer")
	}
}

// kill ends the process that was looked at, and no later one.
func (s *Supervisor) kill(p watched, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.command == nil || p.command.Process.Pid != p.pid {
		return
	}
	s.config.Log.Info("process is ended", "type", p.trigger, "pid", p.pid, "reason", reason)
	_ = p.command.Process.Kill()
}

func (s *Supervisor) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isOver = true
	for _, p := range s.processes {
		if p.command != nil {
			_ = p.command.Process.Kill()
		}
	}
}

// residentMemory returns what the process has in memory, in bytes, from the second field of /proc/PID/statm.
func residentMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, errors.New("statm has too few fields")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
