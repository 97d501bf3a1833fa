// Command record is the first process of a virtual machine. It makes cgroups as kubelets and container runtimes do, has
// processes use CPU and memory in them, and prints the kernel's files for each. The README.md of the folder above has
// the instructions for running it.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	mounted = "/cgroup"
	uid     = "3f1c9c52-6a0e-4f0b-9d4e-0c8c1f6f2a11"
	id      = "8c2f6602bb9d4c0f5f0a8a3e6c1b7d24e9f3a50b1c8d7e6f5a4b3c2d1e0f9a8b"
	sandbox = "1d9e0c7b6a5f4e3d2c1b0a9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b"
	slices  = "kubepods.slice/kubepods-burstable.slice/" +
		"kubepods-burstable-pod3f1c9c52_6a0e_4f0b_9d4e_0c8c1f6f2a11.slice"
	plain = "kubepods/burstable/pod" + uid
)

// trees are the cgroups of the pod, of its container, of its sandbox, and of CRI-O's monitor, by driver and runtime.
var trees = []struct {
	name, pod string
	inPod     []string
}{
	{"systemd-containerd", slices, []string{"cri-containerd-" + id + ".scope", "cri-containerd-" + sandbox + ".scope"}},
	{"systemd-crio", slices,
		[]string{"crio-" + id + ".scope", "crio-" + sandbox + ".scope", "crio-conmon-" + id + ".scope"}},
	{"cgroupfs-containerd", plain, []string{id, sandbox}},
	{"cgroupfs-crio", plain, []string{"crio-" + id, "crio-" + sandbox, "crio-conmon-" + id}},
}

// version is a version of cgroups: the controllers that are mounted, none in version 2, and the files that are printed.
type version struct {
	controllers        []string
	ofTree, ofCgroup   []string
	limitFile, limitTo string
}

var versions = map[string]version{
	"1": {
		controllers: []string{"cpu", "cpuacct", "memory"},
		ofTree:      []string{"cpuacct/cpuacct.usage", "memory/memory.usage_in_bytes"},
		ofCgroup: []string{
			"cpuacct/cpuacct.usage", "cpu/cpu.stat", "memory/memory.usage_in_bytes", "memory/memory.stat",
		},
		limitFile: "cpu/cpu.cfs_quota_us", limitTo: "20000",
	},
	"2": {
		ofTree:    []string{"cgroup.controllers"},
		ofCgroup:  []string{"cpu.stat", "cpu.pressure", "memory.current", "memory.stat"},
		limitFile: "cpu.max", limitTo: "20000 100000",
	},
}

func main() {
	if len(os.Args) > 1 {
		use(os.Args[1])
		return
	}
	if err := run(); err != nil {
		fmt.Println("FAILED", err)
	}
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	of := os.Getenv("cgroups") // an argument of the kernel
	v, ok := versions[of]
	if !ok {
		return fmt.Errorf("cgroups of version %q", of)
	}
	errs := []error{mount("proc", "/proc", ""), mount("devtmpfs", "/dev", ""), load("/modules/brd.ko")}
	if of == "2" {
		errs = append(errs, mount("cgroup2", mounted, ""))
	}
	for _, controller := range v.controllers {
		errs = append(errs, mount("cgroup", filepath.Join(mounted, controller), controller))
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for _, tree := range trees {
		fmt.Printf("TREE v%s-%s of Linux %s", of, tree.name, release)
		if err := v.record(tree.pod, tree.inPod); err != nil {
			return fmt.Errorf("%s: %w", tree.name, err)
		}
	}
	fmt.Println("END")
	return nil
}

func mount(kind, at, options string) error {
	return errors.Join(os.MkdirAll(at, 0o755), syscall.Mount("none", at, kind, 0, options))
}

// load loads the module of a disk in memory.
func load(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	options := []byte("rd_nr=1 rd_size=16384\x00")
	const finitModule = 313 // on amd64
	if _, _, failed := syscall.Syscall(finitModule, f.Fd(), uintptr(unsafe.Pointer(&options[0])), 0); failed != 0 {
		return failed
	}
	return nil
}

// record makes a tree, lets its processes run for some seconds and prints it.
func (v *version) record(pod string, inPod []string) error {
	path := ""
	for _, part := range append(strings.Split(pod, "/"), "") {
		if len(v.controllers) == 0 {
			enabled := filepath.Join(mounted, path, "cgroup.subtree_control")
			if err := os.WriteFile(enabled, []byte("+cpu +memory"), 0); err != nil {
				return err
			}
		}
		path = filepath.Join(path, part)
		if err := v.mkdir(path); err != nil {
			return err
		}
	}
	for i, cgroup := range inPod {
		process, err := v.start(filepath.Join(pod, cgroup), []string{"work", "pause", "pause"}[i])
		if err != nil {
			return err
		}
		defer func() {
			_ = process.Process.Kill()
			_ = process.Wait()
		}()
	}
	time.Sleep(5 * time.Second)
	for _, file := range v.ofTree {
		if err := show(file); err != nil {
			return err
		}
	}
	for _, cgroup := range inPod {
		for _, file := range v.ofCgroup {
			if err := show(v.in(filepath.Join(pod, cgroup), file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// in returns the path of a cgroup's file, which begins with the controller in version 1.
func (v *version) in(cgroup, file string) string {
	return filepath.Join(filepath.Dir(file), cgroup, filepath.Base(file))
}

func (v *version) mkdir(cgroup string) error {
	for _, controller := range append([]string{""}, v.controllers...) {
		if controller == "" && len(v.controllers) > 0 {
			continue
		}
		if err := os.MkdirAll(filepath.Join(mounted, controller, cgroup), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// start starts a process in a cgroup. One that works may use a fifth of a CPU.
func (v *version) start(cgroup, kind string) (*exec.Cmd, error) {
	if err := v.mkdir(cgroup); err != nil {
		return nil, err
	}
	if kind == "work" {
		limit := filepath.Join(mounted, v.in(cgroup, v.limitFile))
		if err := os.WriteFile(limit, []byte(v.limitTo), 0); err != nil {
			return nil, err
		}
	}
	process := exec.Command("/init", kind)
	begin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	for _, file := range v.ofCgroup {
		procs := filepath.Join(mounted, filepath.Dir(v.in(cgroup, file)), "cgroup.procs")
		if err := os.WriteFile(procs, []byte(strconv.Itoa(process.Process.Pid)), 0); err != nil {
			return nil, err
		}
	}
	return process, begin.Close()
}

// use is the work of a process in a container: it has memory and pages of files, and uses CPU.
func use(kind string) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	if kind == "pause" {
		time.Sleep(time.Hour)
	}
	memory := bytes.Repeat([]byte("x"), 24<<20)
	if disk, err := os.Open("/dev/ram0"); err == nil {
		_, _ = io.Copy(io.Discard, disk)
	}
	for i := 0; ; i++ {
		memory[i%len(memory)]++
	}
}

func show(path string) error {
	content, err := os.ReadFile(filepath.Join(mounted, path))
	if err != nil {
		return err
	}
	fmt.Printf("-- %s --\n%s", path, content)
	return nil
}
