// Package isolation gives a program a network and mounts of its own, so that kube-proxy's rules are not this machine's,
// and the kubelet can be shown more processors than there are.
package isolation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// nodesDir has the kernel's files about processors and memory by NUMA node. cAdvisor counts the processors there.
const nodesDir = "/sys/devices/system/node"

// cpusDir has the processors' own files.
const cpusDir = "/sys/devices/system/cpu"

// endPatience is how long the program may take to clean up.
const endPatience = 2 * time.Minute

// Run runs this program again, with other arguments, in namespaces of its own, and returns its error. When ctx ends, it
// signals the program to end.
func Run(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program's file: %w", err)
	}
	// The kernel sends the signal when the thread that started the program ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endPatience
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("in a network of its own: %w", err)
	}
	return nil
}

// Enter prepares the namespaces from inside: the loopback interface, with an address among those of Services, and at
// least so many processors for who counts them in sysfs. What it returns takes back what is left outside.
func Enter(ctx context.Context, address netip.Addr, services netip.Prefix, cpus int) (leave func() error, err error) {
	for _, args := range [][]string{
		{"link", "set", "dev", "lo", "up"},
		{"address", "add", address.String() + "/32", "dev", "lo"},
		// Without a route the API server's own connections to Services fail before they reach kube-proxy's rules.
		{"route", "add", services.String(), "dev", "lo", "src", address.String()},
	} {
		ip, err := realnode.Find("ip")
		if err != nil {
			return nil, fmt.Errorf("ip: %w", err)
		}
		if out, err := exec.CommandContext(ctx, ip, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	if runtime.NumCPU() >= cpus {
		return func() error { return nil }, nil
	}
	return showMore(cpus)
}

// showMore puts a made-up tree over the kernel's: as many NUMA nodes as it takes, each with all processors that there
// are. Processors that do not exist would be taken for offline.
func showMore(cpus int) (leave func() error, err error) {
	dir, err := os.MkdirTemp("", "plimsoll-cpus-")
	if err != nil {
		return nil, fmt.Errorf("more processors: %w", err)
	}
	leave = func() error {
		err := syscall.Unmount(nodesDir, syscall.MNT_DETACH)
		if errors.Is(err, syscall.EINVAL) {
			err = nil // it was not mounted
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := writeNodes(dir, runtime.NumCPU(), cpus); err != nil {
		return nil, errors.Join(fmt.Errorf("more processors: %w", err), leave())
	}
	if err := syscall.Mount(dir, nodesDir, "", syscall.MS_BIND, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("more processors: mount over %s: %w", nodesDir, err), leave())
	}
	return leave, nil
}

// writeNodes writes the tree for a machine with at least this number of processors.
func writeNodes(dir string, there, cpus int) error {
	for node := range (cpus + there - 1) / there {
		folder := filepath.Join(dir, "node"+strconv.Itoa(node))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return fmt.Errorf("write %s: %w", folder, err)
		}
		for cpu := range there {
			name := "cpu" + strconv.Itoa(cpu)
			if err := os.Symlink(filepath.Join(cpusDir, name), filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("write %s: %w", folder, err)
			}
		}
	}
	return nil
}
