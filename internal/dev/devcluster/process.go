package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A part that gets SIGTERM has stopGrace before it is killed.
const stopGrace = 5 * time.Second

// errPortTaken marks a part that ended because another process took its port between choice and use.
var errPortTaken = errors.New("port taken by another process")

// supervisor owns the child processes of one cluster and the folder in which they work.
type supervisor struct {
	dir     string
	watcher *watcher
	failed  chan error // capacity 1: the first part that ended unasked

	mu      sync.Mutex // guards the watcher's pipe and the fields below
	running map[*process]struct{}
	stopped bool
}

// process is one running part.
type process struct {
	name    string
	command []string
	logPath string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	err     error         // read after done

	mu     sync.Mutex
	wanted bool // ended on request, or still being started: its end is no failure of the cluster
}

func newSupervisor() (*supervisor, error) {
	dir, err := os.MkdirTemp("", "plimsoll-devcluster-")
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	w, err := startWatcher(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &supervisor{dir: dir, watcher: w, failed: make(chan error, 1), running: map[*process]struct{}{}}, nil
}

// start runs a binary with its output in <dir>/logs/<name>.log. It is a failure of the cluster if it ends unasked once
// settle was called.
func (s *supervisor) start(name, binary string, args []string) (*process, error) {
	p := &process{
		name: name, command: append([]string{binary}, args...), logPath: filepath.Join(s.dir, "logs", name+".log"),
		done: make(chan struct{}), wanted: true,
	}
	if err := os.MkdirAll(filepath.Dir(p.logPath), 0o700); err != nil {
		return nil, fmt.Errorf("%s: log folder: %w", name, err)
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: log: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	p.cmd = exec.CommandContext(context.Background(), "/bin/sh",
		append([]string{"-c", gateScript, "sh", binary}, args...)...)
	p.cmd.Dir = s.dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	gate, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: gate: %w", name, err)
	}
	if err := s.launch(p, gate); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// launch starts the gated process, registers it with the watcher, and opens the gate.
func (s *supervisor) launch(p *process, gate io.WriteCloser) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("the cluster is stopping")
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	s.running[p] = struct{}{}
	go s.reap(p)
	if err := s.watcher.add(p.cmd.Process.Pid); err != nil {
		return errors.Join(err, gate.Close())
	}
	_, err := io.WriteString(gate, "go\n")
	return errors.Join(err, gate.Close())
}

// reap waits for the end of a process and reports it if it was not requested.
func (s *supervisor) reap(p *process) {
	err := p.cmd.Wait()
	s.mu.Lock()
	delete(s.running, p)
	if !s.stopped {
		// A watcher that is gone is no reason to lose the report of the part's end.
		_ = s.watcher.drop(p.cmd.Process.Pid)
	}
	s.mu.Unlock()

	p.mu.Lock()
	p.err = fmt.Errorf("%s ended: %w", p.name, endedAs(err))
	unasked := !p.wanted
	p.mu.Unlock()
	close(p.done)
	if unasked {
		s.fail(p.failure(p.err))
	}
}

// fail reports that the cluster no longer works.
func (s *supervisor) fail(err error) {
	select {
	case s.failed <- err:
	default: // the first failure is the cause of the rest
	}
}

func endedAs(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// settle marks the process as up: from now on its end is a failure of the cluster.
func (p *process) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
}

// kill ends the process and waits for its end.
func (p *process) kill() {
	p.expectEnd()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// expectEnd marks the coming end as expected.
func (p *process) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
}

// stop ends the process: politely, then not.
func (p *process) stop(ctx context.Context) {
	p.expectEnd()
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	p.kill()
}

// signal goes to the whole process group. A group that is already gone needs none.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// await polls ready until it returns nil; it fails at once when the process ends.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			p.settle()
			return nil
		}
		select {
		case <-p.done:
			return p.failure(p.err)
		case <-ctx.Done():
			return p.failure(fmt.Errorf("%s not ready: %w (last answer: %w)", p.name, context.Cause(ctx), last))
		case <-ticker.C:
		}
	}
}

// failure adds the end of the part's log to an error about it.
func (p *process) failure(err error) error {
	tail := logTail(p.logPath, 15)
	if strings.Contains(tail, "address already in use") {
		err = fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return fmt.Errorf("%w; last lines of %s:\n%s", err, filepath.Base(p.logPath), tail)
}

// logTail returns the last lines of a log, each cut to a length that a terminal can show.
func logTail(path string, lines int) string {
	const maxLineBytes, maxTailBytes = 400, 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > maxTailBytes {
		_, _ = file.Seek(-maxTailBytes, io.SeekEnd) // from the start is as good
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	for i, line := range all {
		if len(line) > maxLineBytes {
			line = line[:maxLineBytes] + "..."
		}
		all[i] = "  | " + line
	}
	return strings.Join(all, "\n")
}

// stop kills every process, waits for their end, and has the watcher remove the folder. Nothing in a throw-away
// cluster is worth a graceful end.
func (s *supervisor) stop() error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return nil
	}
	s.stopped = true
	var left []*process
	for p := range s.running {
		left = append(left, p)
	}
	s.mu.Unlock()
	for _, p := range left {
		p.expectEnd()
		p.signal(syscall.SIGKILL)
	}
	for _, p := range left {
		<-p.done
	}
	err := s.watcher.close()
	return errors.Join(err, os.RemoveAll(s.dir))
}
