package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CgroupRoot is the cgroup of all pods, below the root of every hierarchy: the kubelet's --cgroup-root.
const CgroupRoot = "/" + networkName

// clockTicks is the number of units per second in which /proc counts processor time: 100 on every architecture that Go
// supports.
const clockTicks = 100

// ourPrograms are the programs that a node runs with its folder in their arguments.
var ourPrograms = []string{"containerd", "containerd-shim-runc-v2", "kubelet", "runc"}

// processCPU is the processor time of all threads of a process, in user and kernel mode.
func processCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	return parseStat(string(text))
}

// parseStat reads the processor time from /proc/PID/stat. The second field is the program's name in brackets, which may
// contain anything; utime and stime are the 14th and 15th.
func parseStat(text string) (time.Duration, error) {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return 0, fmt.Errorf("processor time: %q names no program", text)
	}
	const user, system = 14 - 3, 15 - 3
	fields := strings.Fields(text[end+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("processor time: %q is too short", text)
	}
	var ticks uint64
	for _, field := range fields[user : system+1] {
		n, err := strconv.ParseUint(field, 10, 40)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / clockTicks), nil
}

// cgroupFolders returns those of a cgroup in all hierarchies of the machine, the deepest first.
func cgroupFolders() ([]string, error) {
	tops, err := filepath.Glob("/sys/fs/cgroup/*" + CgroupRoot)
	if err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	var folders []string
	for _, top := range append(tops, "/sys/fs/cgroup"+CgroupRoot) {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return ignoreGone(err)
			}
			if entry.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cgroups: %w", err)
		}
	}
	slices.Reverse(folders)
	return folders, nil
}

// createCgroup makes the pods' cgroup in each hierarchy.
func createCgroup() error {
	roots := []string{"/sys/fs/cgroup"} // of version 2
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		if roots, err = filepath.Glob("/sys/fs/cgroup/*"); err != nil {
			return fmt.Errorf("cgroups: %w", err)
		}
	}
	for _, root := range roots {
		if err := os.Mkdir(root+CgroupRoot, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cgroups: %w", err)
		}
	}
	return nil
}

// removeCgroup removes the pods' cgroup, which must be empty.
func removeCgroup() error {
	folders, err := cgroupFolders()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := ignoreGone(syscall.Rmdir(folder)); err != nil {
			return fmt.Errorf("cgroup %s: %w", folder, err)
		}
	}
	return nil
}

// killContainers ends whatever runs in the pods' cgroup and waits for its end.
func killContainers(ctx context.Context) error {
	return killAll(ctx, "containers", func() ([]int, error) {
		folders, err := cgroupFolders()
		if err != nil {
			return nil, err
		}
		var pids []int
		for _, folder := range folders {
			text, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
			if err != nil {
				continue // it went meanwhile, or is of a kind that has no processes
			}
			for word := range strings.FieldsSeq(string(text)) {
				// 0 is a process of another namespace, which is none of the node's.
				if pid, err := strconv.Atoi(word); err == nil && pid > 1 && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
		}
		return pids, nil
	})
}

// ourProcesses returns those of the node's programs that have its folder in their arguments.
func ourProcesses(l layout) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && isOurs(string(arguments), l.dir) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// isOurs judges a process by its arguments, which zero bytes separate.
func isOurs(cmdline, dir string) bool {
	program, arguments, _ := strings.Cut(cmdline, "\x00")
	return slices.Contains(ourPrograms, filepath.Base(program)) && strings.Contains(arguments, dir+"/")
}

// killAll kills what find finds, again and again until it finds nothing.
func killAll(ctx context.Context, what string, find func() ([]int, error)) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		pids, err := find()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill %s: process %d: %w", what, pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill %s: processes %v do not end: %w", what, pids, ctx.Err())
		case <-ticker.C:
		}
	}
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
