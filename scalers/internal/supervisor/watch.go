package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	// idleTimeout is how long a process runs after the last request for its type.
	idleTimeout = 20 * time.Minute
	// watchPeriod is the period of the checks of processes.
	watchPeriod = 2 * time.Second
	// memoryPeriod is the period in which the memory of all processes is added up. It is short: a process can allocate
	// what the pod has left in less than a second, and then the kernel ends the container.
	memoryPeriod = 200 * time.Millisecond
	// healthTimeout bounds a health check. A process with maxFailedChecks in sequence is ended.
	healthTimeout   = 3 * time.Second
	maxFailedChecks = 3
	// startTimeout is how long a process may take to start: on a busy node that takes a while.
	startTimeout = time.Minute
)

// errHanging is the result of a health check of a process in which calls of all metrics do not end.
var errHanging = errors.New("the calls of all its metrics did not end")

// Run checks the processes, until the context ends. Then it ends them, and waits for their ends.
func (s *Supervisor) Run(ctx context.Context) {
	defer s.stop()
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	memory := time.NewTicker(memoryPeriod)
	defer memory.Stop()
	for {
		select {
		case <-ticker.C:
			s.checkAll(ctx)
		case <-memory.C:
			s.checkTotalMemory()
		case <-ctx.Done():
			return
		}
	}
}

// checkAll ends processes that are unused or use too much memory. It waits for none of them: one that hangs must not
// delay the others. What takes time is checked beside it.
func (s *Supervisor) checkAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.types {
		p := t.process
		if p == nil || p.reason != "" {
			continue
		}
		used, err := residentMemory(p.pid())
		switch {
		case time.Since(t.used) > idleTimeout:
			s.endLocked(p, syscall.SIGTERM, Unused, fmt.Sprintf("it had no request for %s", idleTimeout))
		case err == nil && used > s.config.Memory:
			s.endLocked(p, syscall.SIGKILL, Memory, tooMuch("it used", "its", used, s.config.Memory))
		case !p.isChecked:
			p.isChecked = true
			s.goroutines.Go(func() { s.check(ctx, p) })
		}
	}
}

// checkTotalMemory ends the largest process if all of them together use too much memory: between two checks of each one
// they may use more than their limits. It ends one at a time, and no other before the memory of that one is free.
func (s *Supervisor) checkTotalMemory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var largest *process
	var total, most int64
	for _, t := range s.types {
		p := t.process
		if p == nil || p.hasEnded {
			continue
		}
		if p.reason == Memory {
			return
		}
		used, err := residentMemory(p.pid())
		if err != nil {
			continue // It has just ended.
		}
		total += used
		if p.reason == "" && used > most {
			largest, most = p, used
		}
	}
	if total > s.config.TotalMemory && largest != nil {
		s.endLocked(largest, syscall.SIGKILL, Memory, fmt.Sprintf("%s, and it used most of it: %d MiB",
			tooMuch("all processes used", "their", total, s.config.TotalMemory), most>>20))
	}
}

// tooMuch says how much of a limit was used.
func tooMuch(what, whose string, used, limit int64) string {
	return fmt.Sprintf("%s %d MiB, more than %s limit of %d MiB", what, used>>20, whose, limit>>20)
}

// check ends the process if its temporary files are too large, or if it does not respond.
func (s *Supervisor) check(ctx context.Context, p *process) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.isChecked = false
	}()
	if size := sizeOf(p.directory); size > s.config.TemporaryFiles {
		s.end(p, syscall.SIGTERM, TemporaryFiles, tooMuch("its temporary files had", "its", size,
			s.config.TemporaryFiles))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	err := s.checkHealth(ctx, p.connection)
	switch {
	case errors.Is(err, errHanging):
		s.end(p, syscall.SIGKILL, Hanging, err.Error())
	case s.isUnresponsive(p, err, time.Now()):
		s.end(p, syscall.SIGKILL, Unresponsive, fmt.Sprintf("it did not respond within %s, %d times in sequence",
			healthTimeout, maxFailedChecks))
	}
}

func checkHealth(ctx context.Context, connection *grpc.ClientConn) error {
	response, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil && response.GetStatus() == grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		return errHanging
	}
	return err
}

// isUnresponsive counts health checks that fail one after the other, once the process has had the time to start.
func (s *Supervisor) isUnresponsive(p *process, err error, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		p.failedChecks = 0
	case now.Sub(p.started) >= s.startTimeout:
		p.failedChecks++
	}
	return p.failedChecks >= maxFailedChecks
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

// sizeOf returns the size of what is in a directory, in bytes. An empty file counts as a block: it uses an inode.
func sizeOf(directory string) int64 {
	const block, sector = 4096, 512
	var size int64
	// Files that vanish meanwhile do not count.
	_ = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == directory {
			return nil //nolint:nilerr // see above
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		used := int64(block)
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			used = max(used, stat.Blocks*sector)
		}
		size += used
		return nil
	})
	return size
}

// LimitMemory makes the kernel refuse this process more than twice the memory for which the supervisor ends it: the
// supervisor checks it every two seconds, and a process can allocate all memory of the pod meanwhile. Go reserves more
// than it uses.
func LimitMemory(memory int64) error {
	most := uint64(2 * memory)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
