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
	// beginsWithin is how long a process may take to begin: on a busy node its start takes a while.
	beginsWithin = time.Minute
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
	// Memory is the most that a process may use, in bytes, and TotalMemory the most for all, if each uses as much.
	Memory, TotalMemory int64
	Log                 logr.Logger
}

// Supervisor keeps the processes. It may be used by many goroutines.
type Supervisor struct {
	config       Config
	beginsWithin time.Duration

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
	// silent counts the questions without an answer since the last one.
	silent int
	// reason is why it ended last; delay is the time from its start to the next one.
	reason string
	delay  time.Duration
}

// New makes a Supervisor.
func New(config Config) *Supervisor {
	return &Supervisor{config: config, beginsWithin: beginsWithin, processes: map[string]*process{}}
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
	if err := s.hasRoomLocked(); err != nil {
		return nil, err
	}
	if err := s.startLocked(p, now); err != nil {
		return nil, fmt.Errorf("starting the process of the type %s: %w", trigger, err)
	}
	return p.connection, nil
}

// hasRoomLocked returns an error if one more process could use more memory than there is. Otherwise the authors of
// metrics could start so many that the kernel ends them all.
func (s *Supervisor) hasRoomLocked() error {
	running := int64(1)
	for _, p := range s.processes {
		if p.command != nil {
			running++
		}
	}
	if running*s.config.Memory <= s.config.TotalMemory {
		return nil
	}
	return fmt.Errorf("plimsoll-scalers reads %d other types of triggers already, and has no memory for another one: "+
		"--max-memory is %d MiB, and --max-memory-per-type %d MiB", running-1, s.config.TotalMemory>>20, s.config.Memory>>20)
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
	if s.isSilent(p, err, time.Now()) {
		s.kill(p, "it does not answer")
	}
}

// isSilent reports whether the process has not answered several times. A later process of the type is another one.
func (s *Supervisor) isSilent(p watched, err error, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !p.isCurrentLocked():
		return false
	case err == nil:
		p.silent = 0
		return false
	case now.Sub(p.started) < s.beginsWithin:
		return false
	}
	p.silent++
	return p.silent >= mostSilent
}

// isCurrentLocked reports whether the process that was looked at still runs.
func (p watched) isCurrentLocked() bool { return p.command != nil && p.command.Process.Pid == p.pid }

// kill ends the process that was looked at, and no later one.
func (s *Supervisor) kill(p watched, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.isCurrentLocked() {
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

// residentMemory returns what the process alone has in memory, in bytes, from the second field of /proc/PID/statm and
// the third, the pages that it shares: the program, which all processes have.
func residentMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0, errors.New("statm has too few fields")
	}
	resident, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, err
	}
	shared, err := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize()), err
}

// LimitMemory makes the kernel refuse this process more than twice the memory that the supervisor ends it for: it looks
// only now and then, and a process can allocate all memory of the pod meanwhile. Go reserves more than it uses.
func LimitMemory(memory int64) error {
	most := uint64(2 * memory)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
