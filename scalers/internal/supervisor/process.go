package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// heapShare is the part of the memory within which the garbage collector tries to keep the heap, in percent.
const heapShare = 80

// Reason is why a process ended, as in the label of the metric.
type Reason string

// The reasons. The Supervisor ends processes for all but the last three.
const (
	// Memory is a process that used more memory than it may.
	Memory Reason = "memory"
	// TemporaryFiles is a process whose temporary files were larger than they may be.
	TemporaryFiles Reason = "temporary-files"
	// Unresponsive is a process that did not respond to health checks.
	Unresponsive Reason = "unresponsive"
	// Hanging is a process in which calls of all metrics do not end.
	Hanging Reason = "hanging"
	// Unused is a process without requests.
	Unused Reason = "unused"
	// Shutdown is the end of plimsoll-scalers.
	Shutdown Reason = "shutdown"
	// Crashed is a process that ended by itself: a library panicked, or the kernel refused it memory.
	Crashed Reason = "crashed"
	// Killed is a process that something else ended with a signal, as the kernel when there is no memory.
	Killed Reason = "killed"
	// NotStarted is a process that could not be started.
	NotStarted Reason = "not-started"
)

// EndedError is why there is no connection to the process of a type: it ended.
type EndedError struct {
	Trigger string
	Reason  Reason
	// Detail says more than the reason, for the author of a metric.
	Detail string
	// In is the time until another one is started; 0 if the next request does.
	In time.Duration
	// IsRestarted is true if another one has started.
	IsRestarted bool
}

// Error implements error. It is the message of the metrics that the process had.
func (e *EndedError) Error() string {
	ended := "was ended"
	switch e.Reason {
	case Crashed, Killed:
		ended = "ended"
	case NotStarted:
		ended = "could not be started"
	}
	again := "it starts again at the next request"
	switch {
	case e.IsRestarted:
		again = "it has started again"
	case e.In > 0:
		again = fmt.Sprintf("it starts again in %d s", (e.In+time.Second-1)/time.Second)
	}
	return fmt.Sprintf("the process of type %s %s: %s; %s", e.Trigger, ended, e.Detail, again)
}

// process is a process for a type of trigger. The Supervisor's lock guards its last fields.
type process struct {
	trigger string
	command *exec.Cmd
	// directory has its temporary files, and is removed when it has ended.
	directory  string
	connection *grpc.ClientConn
	started    time.Time
	// ended is closed when it has ended.
	ended chan struct{}

	hasEnded bool
	// isChecked is true while a health check is under way; failedChecks counts those that failed since the last one that
	// did not.
	isChecked    bool
	failedChecks int
	// reason is empty while the process is to run.
	reason Reason
	detail string
}

// newProcess starts a process.
func newProcess(trigger string, config *Config) (*process, error) {
	socket := filepath.Join(config.Directory, trigger+".sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Some scalers write keys and certificates to files, and do not remove all of them.
	directory, err := os.MkdirTemp(config.Directory, trigger+"-")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(context.Background(), program, config.Command(trigger, socket)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Env = append(environment(os.Environ()), config.Environment...)
	command.Env = append(command.Env, "TMPDIR="+directory,
		"GOMEMLIMIT="+strconv.FormatInt(config.Memory*heapShare/100, 10))
	// In a process group of its own it does not get the SIGINT of a terminal: it ends after the requests in progress.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err == nil {
		if err = command.Start(); err != nil {
			_ = connection.Close()
		}
	}
	if err != nil {
		_ = os.RemoveAll(directory)
		return nil, err
	}
	return &process{
		trigger: trigger, command: command, directory: directory, connection: connection, ended: make(chan struct{}),
	}, nil
}

// environment returns the variables without those with which libraries find the API server.
func environment(all []string) []string {
	return slices.DeleteFunc(all, func(variable string) bool { return strings.HasPrefix(variable, "KUBERNETES_") })
}

// failedProcess is a process that was not started.
func failedProcess(now time.Time, err error) *process {
	p := &process{started: now, ended: make(chan struct{}), hasEnded: true, reason: NotStarted, detail: err.Error()}
	close(p.ended)
	return p
}

func (p *process) pid() int { return p.command.Process.Pid }

// ofExit returns why a process ended by itself.
func ofExit(err error) (reason Reason, detail string) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return Killed, "something outside of plimsoll-scalers sent it a signal (" + status.Signal().String() + ")"
		}
	}
	detail = "exit status 0"
	if err != nil {
		detail = err.Error()
	}
	return Crashed, "it crashed (" + detail + "); the log of plimsoll-scalers says where"
}

// nextStart is the earliest time at which another process may start.
func (t *triggerType) nextStart() time.Time { return t.process.started.Add(t.delay) }

// endedErrorLocked returns the error for a process that has ended or ends.
func (t *triggerType) endedErrorLocked(p *process, now time.Time) error {
	e := &EndedError{Trigger: t.name, Reason: p.reason, Detail: p.detail, IsRestarted: t.process != p}
	if !e.IsRestarted {
		e.In = max(0, t.nextStart().Sub(now))
	}
	return e
}
