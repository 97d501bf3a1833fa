package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Where programs of the node write outside of its folder, whatever their flags are.
const (
	containerLogs  = "/var/log/containers"  // links of the kubelet to the pods' logs
	networkResults = "/var/lib/cni/results" // results of the network plugins
	shimSockets    = "/run/containerd/s"    // containerd's ends of the shims
	usualSocket    = "/run/containerd/containerd.sock"
	devicePlugins  = "/var/lib/kubelet/device-plugins"
)

// tunables are the settings of the kernel that the kubelet and the bridge plugin change.
var tunables = []string{
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic",
	"/proc/sys/kernel/panic_on_oops",
	"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes", "/proc/sys/net/ipv4/ip_forward",
}

// foreign are the folders outside of the node's that may appear with it, the deeper before those that they are in.
var foreign = []string{
	containerLogs, networkResults, "/var/lib/cni", shimSockets, "/run/containerd", devicePlugins, "/var/lib/kubelet",
}

// before is the state to restore.
type before struct {
	// Tunables are contents by path.
	Tunables map[string]string `json:"tunables"`
	// Absent are folders that were not there.
	Absent []string `json:"absent"`
}

func (l layout) beforePath() string { return l.path("before.json") }

// remember stores what is to be restored. It comes before anything that changes it.
func remember(l layout) error {
	b := before{Tunables: map[string]string{}}
	for _, path := range tunables {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // a kernel without it
		}
		b.Tunables[path] = strings.TrimSpace(string(text))
	}
	for _, path := range foreign {
		if _, err := os.Stat(path); err != nil {
			b.Absent = append(b.Absent, path)
		}
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = os.WriteFile(l.beforePath(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember the machine's settings: %w", err)
	}
	return nil
}

// leftovers reports whether there is anything of a node.
func leftovers(ctx context.Context, l layout) (bool, error) {
	if _, err := os.Stat(l.dir); err == nil {
		return true, nil
	}
	if _, err := net.InterfaceByName(bridgeName); err == nil {
		return true, nil
	}
	folders, err := cgroupFolders()
	return len(folders) > 0, errors.Join(err, ctx.Err())
}

// clean removes every trace of a node, in the order of dependencies. It continues after errors.
func clean(ctx context.Context, l layout) error {
	return errors.Join(
		killAll(ctx, "the node's programs", func() ([]int, error) { return ourProcesses(l) }),
		killContainers(ctx),
		unmountAll(ctx, l),
		removeBridge(ctx),
		removeCgroup(),
		removeForeign(ctx, l),
		restore(ctx, l),
		removeFolder(l),
	)
}

// removeFolder removes the node's folder, unless something is still mounted in it that may not be the node's to remove.
func removeFolder(l layout) error {
	mounts, err := mountsBelow(l)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s stays: still mounted: %s", l.dir, strings.Join(mounts, ", "))
	}
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("the node's folder: %w", err)
	}
	return nil
}

func unmountAll(ctx context.Context, l layout) error {
	mounts, err := mountsBelow(l)
	if err != nil {
		return err
	}
	var errs []error
	for _, mount := range mounts {
		if _, err := output(ctx, "umount", mount); err != nil {
			// A dying process still uses it; it goes when that is dead.
			_, err = output(ctx, "umount", "--lazy", mount)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func mountsBelow(l layout) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	return parseMounts(string(text), l.dir), nil
}

// parseMounts reads the mount points below a folder, the latest first.
func parseMounts(mountinfo, dir string) []string {
	const mountPoint = 4
	var points []string
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > mountPoint && strings.HasPrefix(fields[mountPoint], dir+"/") {
			points = append(points, fields[mountPoint])
		}
	}
	slices.Reverse(points)
	return points
}

// showSocket links containerd's socket to the path where the cAdvisor in the kubelet expects it, which has no flag
// (Kubernetes 1.37): without it, its counters have no container names. It returns false, and does nothing, if the path
// exists.
func showSocket(l layout) (linked bool, err error) {
	if err := os.MkdirAll(filepath.Dir(usualSocket), 0o711); err != nil {
		return false, fmt.Errorf("containerd's usual folder: %w", err)
	}
	switch err := os.Symlink(l.socket(), usualSocket); {
	case errors.Is(err, os.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("containerd's usual socket: %w", err)
	}
	return true, nil
}

// removeForeign removes what the node's programs wrote outside of its folder.
func removeForeign(ctx context.Context, l layout) error {
	var errs []error
	if to, err := os.Readlink(usualSocket); err == nil && to == l.socket() {
		errs = append(errs, ignoreGone(os.Remove(usualSocket)))
	}
	logs, _ := filepath.Glob(containerLogs + "/*.log") // the pattern is a good one
	for _, link := range logs {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, l.dir+"/") {
			errs = append(errs, ignoreGone(os.Remove(link)))
		}
	}
	results, _ := filepath.Glob(networkResults + "/*")
	for _, result := range results {
		// Each names the network namespace that it is about.
		if text, err := os.ReadFile(result); err == nil && strings.Contains(string(text), l.dir+"/") {
			errs = append(errs, ignoreGone(os.Remove(result)))
		}
	}
	sockets, _ := filepath.Glob(shimSockets + "/*")
	var dialer net.Dialer
	for _, socket := range sockets {
		connection, err := dialer.DialContext(ctx, "unix", socket)
		switch {
		case err == nil:
			errs = append(errs, connection.Close())
		case errors.Is(err, syscall.ECONNREFUSED):
			// A socket without a listener is of no use.
			errs = append(errs, ignoreGone(os.Remove(socket)))
		}
	}
	return errors.Join(errs...)
}

// restore sets back what was remembered and removes folders that were not there.
func restore(ctx context.Context, l layout) error {
	text, err := os.ReadFile(l.beforePath())
	if err != nil {
		return ignoreGone(err) // it was not started that far
	}
	var b before
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("what was remembered: %w", err)
	}
	errs := []error{ctx.Err()}
	for path, was := range b.Tunables {
		if now, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(now)) != was {
			errs = append(errs, os.WriteFile(path, []byte(was), 0o600))
		}
	}
	for _, folder := range foreign {
		if !slices.Contains(b.Absent, folder) {
			continue
		}
		if folder == devicePlugins {
			// The kubelet's socket and its checkpoint; nothing else was there.
			errs = append(errs, os.RemoveAll(folder))
		}
		// Not empty: another program uses it by now.
		_ = os.Remove(folder)
	}
	return errors.Join(errs...)
}
