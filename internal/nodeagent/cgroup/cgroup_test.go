package cgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
)

// The container and the sandbox of the trees in testdata.
const (
	uid     = "3f1c9c52-6a0e-4f0b-9d4e-0c8c1f6f2a11"
	id      = "8c2f6602bb9d4c0f5f0a8a3e6c1b7d24e9f3a50b1c8d7e6f5a4b3c2d1e0f9a8b"
	sandbox = "1d9e0c7b6a5f4e3d2c1b0a9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b"
)

func text(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// written writes a tree of testdata.
func written(t testing.TB, name string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	if err := cgrouptest.Write(directory, text(t, name)); err != nil {
		t.Fatal(err)
	}
	return directory
}

func opened(t testing.TB, config cgroup.Config) *cgroup.Tree {
	t.Helper()
	tree, err := cgroup.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func found(t testing.TB, tree *cgroup.Tree, name cgroup.Name) *cgroup.Container {
	t.Helper()
	container, err := tree.Container(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = container.Close() })
	return container
}

// TestTrees reads the container of each tree: the numbers are those of its files.
func TestTrees(t *testing.T) {
	names, err := filepath.Glob("testdata/v*.txt")
	if err != nil || len(names) != 8 {
		t.Fatalf("trees %q: %v", names, err)
	}
	for _, name := range names {
		name = filepath.Base(name)
		t.Run(name, func(t *testing.T) {
			tree := opened(t, cgroup.Config{Directory: written(t, name), KubeletRoot: "/"})
			isV2 := strings.HasPrefix(name, "v2")
			if version := tree.Version(); (version == cgroup.V2) != isV2 {
				t.Errorf("version %d", version)
			}
			container := found(t, tree, cgroup.Name{PodUID: uid, ID: id})
			// 104857600 of the processes, 52297728 of files, 2236416 of the kernel, less 39845888 of inactive files.
			wantUsage(t, container, 123_456_789_000, 159391744-39845888)
			wantStalls(t, container, isV2)
			if age := time.Since(container.Began()); age < 0 || age > time.Minute {
				t.Errorf("it began %s ago", age)
			}
			// The inactive files exceed the usage: never below 0.
			wantUsage(t, found(t, tree, cgroup.Name{PodUID: uid, ID: sandbox}), 7_000_000, 0)
		})
	}
}

func wantUsage(t *testing.T, container *cgroup.Container, cpuNanos, memoryBytes int64) {
	t.Helper()
	buffer := new(cgroup.Buffer)
	if nanos, err := container.CPUNanos(buffer); err != nil || nanos != cpuNanos {
		t.Errorf("CPU %d: %v", nanos, err)
	}
	if bytes, err := container.WorkingSetBytes(buffer); err != nil || bytes != memoryBytes {
		t.Errorf("working set %d: %v", bytes, err)
	}
}

func wantStalls(t *testing.T, container *cgroup.Container, isV2 bool) {
	t.Helper()
	buffer := new(cgroup.Buffer)
	want := cgroup.Throttling{Periods: 4711, Throttled: 42, Time: 3141592653}
	if isV2 {
		want.Time = 3141592 * time.Microsecond
	}
	if got, isKnown, err := container.Throttling(buffer); err != nil || !isKnown || got != want {
		t.Errorf("throttling %+v, %t: %v", got, isKnown, err)
	}
	waited, isKnown, err := container.CPUPressure(buffer)
	if err != nil || isKnown != isV2 || isV2 && waited != 271828*time.Microsecond {
		t.Errorf("pressure %s, %t: %v", waited, isKnown, err)
	}
}

// TestQualities finds pods of each quality of service, and below a root of the kubelet.
func TestQualities(t *testing.T) {
	for name, test := range map[string]struct{ root, directory string }{
		"guaranteed, systemd": {"", "kubepods.slice/kubepods-podU_1.slice/cri-containerd-abc.scope"},
		"best effort, systemd": {"",
			"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podU_1.slice/docker-abc.scope"},
		"guaranteed, cgroupfs":  {"", "kubepods/podU-1/abc"},
		"best effort, cgroupfs": {"", "kubepods/besteffort/podU-1/abc"},
		// kind runs the kubelet so.
		"root, systemd": {"/kubelet", "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/" +
			"kubelet-kubepods-burstable-podU_1.slice/cri-containerd-abc.scope"},
		"root, cgroupfs": {"/a/b", "a/b/kubepods/burstable/podU-1/abc"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for file, content := range map[string]string{
				"cgroup.controllers":               "cpu memory\n",
				test.directory + "/cpu.stat":       "usage_usec 7\n",
				test.directory + "/memory.current": "9\n",
				test.directory + "/memory.stat":    "inactive_file 2\n",
			} {
				if err := cgrouptest.WriteFile(filepath.Join(directory, file), content); err != nil {
					t.Fatal(err)
				}
			}
			tree := opened(t, cgroup.Config{Directory: directory, KubeletRoot: test.root})
			container, buffer := found(t, tree, cgroup.Name{PodUID: "U-1", ID: "abc"}), new(cgroup.Buffer)
			if nanos, err := container.CPUNanos(buffer); err != nil || nanos != 7000 {
				t.Errorf("CPU %d: %v", nanos, err)
			}
			// The controller cpu is disabled, and the kernel has no pressure: neither is zero.
			if _, isKnown, err := container.Throttling(buffer); isKnown || err != nil {
				t.Errorf("throttling is known: %v", err)
			}
			if _, isKnown, err := container.CPUPressure(buffer); isKnown || err != nil {
				t.Errorf("pressure is known: %v", err)
			}
		})
	}
}

// TestHostileNames uses names that lead elsewhere, and a tree with such links.
func TestHostileNames(t *testing.T) {
	directory := written(t, "v2-cgroupfs-containerd.txt")
	outside := t.TempDir()
	for name, content := range map[string]string{
		"cpu.stat": "usage_usec 1\n", "memory.current": "1\n", "memory.stat": "inactive_file 0\n",
	} {
		if err := cgrouptest.WriteFile(filepath.Join(outside, name), content); err != nil {
			t.Fatal(err)
		}
	}
	pod := filepath.Join(directory, "kubepods/burstable/pod"+uid)
	for name, to := range map[string]string{
		"1111": outside,
		"2222": "../../../../../../../../../" + outside,
	} {
		if err := os.Symlink(to, filepath.Join(pod, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"..hidden/cpu.stat": "", "a b\n-- x --\n/cpu.stat": "", "\xff/cpu.stat": ""} {
		if err := cgrouptest.WriteFile(filepath.Join(pod, name), content); err != nil {
			t.Fatal(err)
		}
	}
	tree := opened(t, cgroup.Config{Directory: directory})
	for _, name := range []cgroup.Name{
		{PodUID: uid, ID: ""}, {PodUID: "", ID: id}, {PodUID: uid, ID: ".."}, {PodUID: uid, ID: "../" + id},
		{PodUID: "../" + uid, ID: id}, {PodUID: uid, ID: id + "/"}, {PodUID: uid, ID: id + "\x00"},
		{PodUID: uid, ID: "a b\n-- x --\n"}, {PodUID: uid, ID: "\xff"}, {PodUID: uid, ID: "*"}, {PodUID: uid, ID: "%s"},
		{PodUID: uid, ID: strings.Repeat("a", 129)}, {PodUID: strings.Repeat("a", 64), ID: id},
		{PodUID: uid, ID: "1111"}, {PodUID: uid, ID: "2222"},
	} {
		if container, err := tree.Container(name); err == nil || container != nil {
			t.Errorf("%q: it is found", name)
		}
	}
	found(t, tree, cgroup.Name{PodUID: uid, ID: id})
	if err := os.Symlink(filepath.Join(outside, "cpu.stat"), filepath.Join(pod, sandbox, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(pod, sandbox, "link"), filepath.Join(pod, sandbox, "cpu.stat")); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Container(cgroup.Name{PodUID: uid, ID: sandbox}); err == nil || errors.Is(err, cgroup.ErrNotFound) {
		t.Errorf("a file that is a link to the outside: %v", err)
	}
}

func TestAbsent(t *testing.T) {
	directory := written(t, "v1-systemd-crio.txt")
	tree := opened(t, cgroup.Config{Directory: directory})
	for _, name := range []cgroup.Name{{PodUID: "0" + uid[1:], ID: id}, {PodUID: uid, ID: "0" + id[1:]}} {
		if _, err := tree.Container(name); !errors.Is(err, cgroup.ErrNotFound) {
			t.Errorf("%v: %v", name, err)
		}
	}
	// The container ends during the search.
	memory := filepath.Join(directory, "memory", "kubepods.slice")
	if err := os.RemoveAll(memory); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Container(cgroup.Name{PodUID: uid, ID: id}); !errors.Is(err, cgroup.ErrNotFound) {
		t.Errorf("a container without memory: %v", err)
	}
}

// TestOtherContent has files that no kernel writes: each is an error, none a number.
func TestOtherContent(t *testing.T) {
	directory := written(t, "v2-cgroupfs-crio.txt")
	scope := filepath.Join(directory, "kubepods/burstable/pod"+uid, "crio-"+id)
	tree := opened(t, cgroup.Config{Directory: directory})
	container, buffer := found(t, tree, cgroup.Name{PodUID: uid, ID: id}), new(cgroup.Buffer)
	long := strings.Repeat("x 1\n", 5000)
	for _, content := range []string{
		"", "\n", "usage_usec", "usage_usec \n", "usage_usec -1\n", "usage_usec 1.5\n", "usage_usec 18446744073709551615\n",
		"usage_usec 99999999999999999999999\n", "usage_usec2 5\n", " usage_usec 5\n", "usage_usec +5\n", long,
		long + "usage_usec 5\n",
	} {
		if err := os.WriteFile(filepath.Join(scope, "cpu.stat"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if nanos, err := container.CPUNanos(buffer); !errors.Is(err, cgroup.ErrMalformed) {
			t.Errorf("%.40q: %d, %v", content, nanos, err)
		}
	}
	for _, content := range []string{"", "max\n", "12 13\n", "-4\n", "0x10\n", long} {
		if err := os.WriteFile(filepath.Join(scope, "memory.current"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if bytes, err := container.WorkingSetBytes(buffer); !errors.Is(err, cgroup.ErrMalformed) {
			t.Errorf("%.40q: %d, %v", content, bytes, err)
		}
	}
	for _, content := range []string{"", "full avg10=0.00 total=3\n", "some total\n", "some avg10=0.00 total=x\n"} {
		if err := os.WriteFile(filepath.Join(scope, "cpu.pressure"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if waited, isKnown, err := container.CPUPressure(buffer); !errors.Is(err, cgroup.ErrMalformed) || isKnown {
			t.Errorf("%q: %s, %v", content, waited, err)
		}
	}
}

func TestOpen(t *testing.T) {
	if _, err := cgroup.Open(cgroup.Config{Directory: t.TempDir()}); err == nil {
		t.Error("an empty folder is a tree")
	}
	if _, err := cgroup.Open(cgroup.Config{Directory: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing folder is a tree")
	}
	directory := written(t, "v2-cgroupfs-crio.txt")
	for _, root := range []string{"..", "/a/../b", "a b", "a\n"} {
		if _, err := cgroup.Open(cgroup.Config{Directory: directory, KubeletRoot: root}); err == nil {
			t.Errorf("--cgroup-root %q", root)
		}
	}
}
