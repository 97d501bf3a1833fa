// Package supervisor runs a process for each type of trigger that is in use. It ends a process that hangs, or uses too
// much memory or too large temporary files, and starts another one at the next request.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/grpc"
)

const (
	// firstDelay and lastDelay bound the time from the start of a process that ended to the next start. After one that
	// ran for healthyAfter the next one starts at once.
	firstDelay, lastDelay = time.Second, time.Minute
	healthyAfter          = 5 * time.Minute
	// stopTimeout is how long a process may take to end by itself after SIGTERM.
	stopTimeout = 8 * time.Second
	// reapTimeout is how long a request whose connection broke waits for the end of its process, which says why.
	reapTimeout = time.Second
)

// Config configures a Supervisor.
type Config struct {
	// Command returns the arguments of the process for a type, which listens at the path of a socket.
	Command func(trigger, socket string) []string
	// Environment has variables for the processes, beside those of this program.
	Environment []string
	// Directory is where the sockets and the temporary files are.
	Directory string
	// Memory is the most that a process may use, in bytes, and TotalMemory the most for all, if each uses as much.
	Memory, TotalMemory int64
	// TemporaryFiles is the most that the temporary files of a process may have, in bytes.
	TemporaryFiles int64
	// Registerer gets the Supervisor's metrics. It may be nil.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Supervisor starts and ends the processes. It may be used by many goroutines.
type Supervisor struct {
	config Config
	// Tests replace the following.
	startTimeout, stopTimeout time.Duration
	// checkHealth returns an error if the process does not respond to a health check.
	checkHealth func(context.Context, *grpc.ClientConn) error
	ends        *prometheus.CounterVec
	// goroutines are those that wait for the ends of processes, and check them.
	goroutines sync.WaitGroup

	mu sync.Mutex
	// types has the types that were requested. The server refuses unknown ones, so there are no more than KEDA has.
	types map[string]*triggerType
	// running counts the processes that have not ended.
	running   int64
	isStopped bool
}

// triggerType is a type of trigger. The Supervisor's lock guards it.
type triggerType struct {
	name string
	// process is the latest process, and previous the one before; nil if there is none.
	process, previous *process
	used              time.Time
	// delay is the time from the start of the process to the next start, if it ends.
	delay time.Duration
}

// New makes a Supervisor.
func New(config Config) *Supervisor {
	return &Supervisor{
		config: config, startTimeout: startTimeout, stopTimeout: stopTimeout, checkHealth: checkHealth,
		types: map[string]*triggerType{},
		ends: promauto.With(config.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "plimsoll_scalers_process_ends_total",
			Help: "Ends of processes, by type of trigger and reason.",
		}, []string{"type", "reason"}),
	}
}

var errStopped = errors.New("plimsoll-scalers is shutting down")

// Connection returns a connection to the process for a type. It starts the process if it does not run.
func (s *Supervisor) Connection(trigger string) (*grpc.ClientConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopped {
		return nil, errStopped
	}
	now := time.Now()
	t := s.types[trigger]
	if t == nil {
		t = &triggerType{name: trigger}
		s.types[trigger] = t
	}
	t.used = now
	switch p := t.process; {
	case p == nil:
	case p.reason != "":
		// It has ended, or ends at this moment.
		if !p.hasEnded || now.Before(t.nextStart()) {
			return nil, t.endedErrorLocked(p, now)
		}
	default:
		return p.connection, nil
	}
	if err := s.hasRoomLocked(); err != nil {
		return nil, err
	}
	if err := s.startLocked(t, now); err != nil {
		return nil, fmt.Errorf("starting the process of type %s: %w", trigger, err)
	}
	return t.process.connection, nil
}

// Running returns the connection to the process for a type; nil if it does not run.
func (s *Supervisor) Running(trigger string) *grpc.ClientConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.types[trigger]; t != nil && t.process != nil && t.process.reason == "" {
		return t.process.connection
	}
	return nil
}

// WhyEnded returns why the process with the connection ended, which a request has found broken. It waits a moment for
// the end. It returns nil if there is no such end.
func (s *Supervisor) WhyEnded(ctx context.Context, trigger string, connection *grpc.ClientConn) error {
	p := s.processWith(trigger, connection)
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.reason == "" {
		return nil
	}
	return s.types[trigger].endedErrorLocked(p, time.Now())
}

func (s *Supervisor) processWith(trigger string, connection *grpc.ClientConn) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.types[trigger]
	if t == nil || connection == nil {
		return nil
	}
	for _, p := range []*process{t.process, t.previous} {
		if p != nil && p.connection == connection {
			return p
		}
	}
	return nil
}

// hasRoomLocked returns an error if one more process could use more memory than there is. Otherwise the authors of
// metrics could start so many that the kernel ends them all.
func (s *Supervisor) hasRoomLocked() error {
	if (s.running+1)*s.config.Memory <= s.config.TotalMemory {
		return nil
	}
	return fmt.Errorf("plimsoll-scalers reads %d other types of triggers already, and has no memory for another one: "+
		"--max-memory is %d MiB, and --max-memory-per-type %d MiB", s.running, s.config.TotalMemory>>20, s.config.Memory>>20)
}

func (s *Supervisor) startLocked(t *triggerType, now time.Time) error {
	t.delay = min(max(2*t.delay, firstDelay), lastDelay)
	t.previous = t.process
	p, err := newProcess(t.name, &s.config)
	if err != nil {
		// The next attempt is after the delay, too.
		t.process = failedProcess(now, err)
		return err
	}
	p.started = now
	t.process = p
	s.running++
	s.config.Log.Info("process started", "type", t.name, "pid", p.pid())
	s.goroutines.Go(func() { s.wait(t, p) })
	return nil
}

// wait waits for the end of the process.
func (s *Supervisor) wait(t *triggerType, p *process) {
	err := p.command.Wait()
	removeErr := os.RemoveAll(p.directory)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.reason == "" {
		p.reason, p.detail = ofExit(err)
	}
	p.hasEnded = true
	s.running--
	if time.Since(p.started) > healthyAfter {
		t.delay = 0
	}
	_ = p.connection.Close()
	close(p.ended)
	s.ends.WithLabelValues(t.name, string(p.reason)).Inc()
	s.config.Log.Info("process ended", "type", t.name, "pid", p.pid(), "reason", p.reason, "detail", p.detail)
	if removeErr != nil {
		s.config.Log.Error(removeErr, "temporary files are not removed", "type", t.name)
	}
}

// end ends the process, unless it ends already: with SIGKILL, or with SIGTERM and time to close its scalers.
func (s *Supervisor) end(p *process, signal syscall.Signal, reason Reason, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(p, signal, reason, detail)
}

func (s *Supervisor) endLocked(p *process, signal syscall.Signal, reason Reason, detail string) {
	if p.reason != "" {
		return
	}
	p.reason, p.detail = reason, detail
	s.config.Log.Info("ending a process", "type", p.trigger, "pid", p.pid(), "reason", reason, "detail", detail)
	_ = p.command.Process.Signal(signal)
	if signal == syscall.SIGKILL {
		return
	}
	s.goroutines.Go(func() {
		timer := time.NewTimer(s.stopTimeout)
		defer timer.Stop()
		select {
		case <-p.ended:
		case <-timer.C:
			_ = p.command.Process.Kill()
		}
	})
}

// stop ends all processes, and waits for their ends.
func (s *Supervisor) stop() {
	s.mu.Lock()
	s.isStopped = true
	for _, t := range s.types {
		if p := t.process; p != nil && !p.hasEnded {
			s.endLocked(p, syscall.SIGTERM, Shutdown, errStopped.Error())
		}
	}
	s.mu.Unlock()
	s.goroutines.Wait()
}
