package cgroup_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
)

// onHost is the mount point of Linux's tree.
const onHost = "/sys/fs/cgroup"

// hostFiles returns files of this machine's kernel, by their place in a tree: for version 1 those of the root, for
// version 2 those of some slice, as the root has no memory. It returns none where a controller is missing.
func hostFiles() (files map[string]string) {
	wanted := map[string]string{"cpuacct/cpuacct.usage": "", "memory/memory.usage_in_bytes": "", "memory/memory.stat": ""}
	source := onHost
	if _, err := os.Stat(filepath.Join(onHost, "cgroup.controllers")); err == nil {
		wanted = map[string]string{"cpu.stat": "", "memory.current": "", "memory.stat": ""}
		if found, _ := filepath.Glob(filepath.Join(onHost, "*", "memory.current")); len(found) > 0 {
			source = filepath.Dir(found[0])
		}
	}
	for name := range wanted {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return nil
		}
		wanted[name] = string(content)
	}
	return wanted
}

// TestHost uses the files of this machine's kernel as those of a container.
func TestHost(t *testing.T) {
	files := hostFiles()
	if files == nil {
		t.Logf("this machine counts neither CPU nor memory in %s", onHost)
		return
	}
	if tree := opened(t, cgroup.Config{Directory: onHost}); (tree.Version() == cgroup.V2) != (files["cpu.stat"] != "") {
		t.Errorf("version %d", tree.Version())
	}
	directory := t.TempDir()
	for name, content := range files {
		controller, base := filepath.Split(name)
		for _, name := range []string{name, filepath.Join(controller, "kubepods", "podU-1", "abc", base), "cgroup.controllers"} {
			if name == "cgroup.controllers" && controller != "" {
				continue
			}
			if err := cgrouptest.WriteFile(filepath.Join(directory, name), content); err != nil {
				t.Fatal(err)
			}
		}
	}
	container := found(t, opened(t, cgroup.Config{Directory: directory}), cgroup.Name{PodUID: "U-1", ID: "abc"})
	buffer := new(cgroup.Buffer)
	if nanos, err := container.CPUNanos(buffer); err != nil || nanos <= 0 {
		t.Errorf("CPU %d: %v", nanos, err)
	}
	if bytes, err := container.WorkingSetBytes(buffer); err != nil || bytes <= 0 {
		t.Errorf("working set %d: %v", bytes, err)
	}
}

// liveVersion2 returns the mount point of a tree of version 2, empty without one.
func liveVersion2(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "cgroup2" {
			return fields[1]
		}
	}
	return ""
}

// TestLiveVersion2 reads CPU and pressure from this machine's tree of version 2, wherever that is mounted: beside
// version 1 it has no memory, so the test uses that of a recorded container.
func TestLiveVersion2(t *testing.T) {
	live := liveVersion2(t)
	usage, err := os.ReadFile(filepath.Join(live, "cpu.stat"))
	if live == "" || err != nil {
		t.Logf("this machine has no tree of version 2 whose root counts CPU: %v", err)
		return
	}
	pressure, err := os.ReadFile(filepath.Join(live, "cpu.pressure"))
	if err != nil {
		t.Logf("its kernel counts no pressure: %v", err)
	}
	directory := written(t, "recorded/v2-cgroupfs-containerd-linux-6.12.txt")
	for name, content := range map[string][]byte{"cpu.stat": usage, "cpu.pressure": pressure} {
		where := filepath.Join(directory, "kubepods/burstable/pod"+uid, id, name)
		if err := os.Remove(where); err != nil {
			t.Fatal(err)
		}
		if content == nil {
			continue
		}
		if err := cgrouptest.WriteFile(where, string(content)); err != nil {
			t.Fatal(err)
		}
	}
	container := found(t, opened(t, cgroup.Config{Directory: directory}), cgroup.Name{PodUID: uid, ID: id})
	buffer := new(cgroup.Buffer)
	nanos, err := container.CPUNanos(buffer)
	within(t, "CPU", nanos, bounds{1, math.MaxInt64}, err)
	waited, hasPressure, err := container.CPUPressure(buffer)
	within(t, "pressure", int64(waited), bounds{0, math.MaxInt64}, err)
	if hasPressure != (pressure != nil) {
		t.Errorf("pressure is known: %t", hasPressure)
	}
}
