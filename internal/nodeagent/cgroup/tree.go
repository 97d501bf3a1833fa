package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// ErrNotFound is returned if the container does not exist, or has ended.
var ErrNotFound = errors.New("the container has no cgroup")

// Version is the version of the cgroups.
type Version int

// The versions.
const (
	V1 Version = 1
	V2 Version = 2
)

// Config locates the cgroups.
type Config struct {
	// Directory is the mount point of the node's tree.
	Directory string
	// KubeletRoot is the kubelet's --cgroup-root, empty or / for none.
	KubeletRoot string
}

// Tree is a node's tree of cgroups. It may be used by many goroutines.
type Tree struct {
	root    *os.Root
	version Version
	// above are the parts of the kubelet's own root.
	above []string
	files files
	// driver is the index in drivers of the last one that matched: a node usually has one.
	driver atomic.Int64
}

// files are the paths of a container's counters: a controller's directory, empty in version 2, and a name.
type files struct {
	cpu, memory, memoryStat, throttling, pressure file
}

// file is a file of a cgroup.
type file struct{ controller, name string }

// in returns the file's path in a cgroup.
func (f file) in(cgroup string) string { return path.Join(f.controller, cgroup, f.name) }

// The files of each version. Version 1 has no pressure; version 2 has CPU and throttling in one file.
var (
	filesV1 = files{
		cpu: file{"cpuacct", "cpuacct.usage"}, throttling: file{"cpu", "cpu.stat"},
		memory: file{"memory", "memory.usage_in_bytes"}, memoryStat: file{"memory", "memory.stat"},
	}
	filesV2 = files{
		cpu: file{"", "cpu.stat"}, throttling: file{"", "cpu.stat"}, pressure: file{"", "cpu.pressure"},
		memory: file{"", "memory.current"}, memoryStat: file{"", "memory.stat"},
	}
)

// Open opens a tree and determines its version.
func Open(config Config) (*Tree, error) {
	root, err := os.OpenRoot(config.Directory)
	if err != nil {
		return nil, fmt.Errorf("opening the tree of cgroups: %w", err)
	}
	t := &Tree{root: root}
	for part := range strings.SplitSeq(config.KubeletRoot, "/") {
		if part == "" {
			continue
		}
		if !isPlain(strings.ReplaceAll(part, "_", "-"), maxUIDBytes) {
			err = fmt.Errorf("%q cannot be the kubelet's --cgroup-root", config.KubeletRoot)
			return nil, errors.Join(err, root.Close())
		}
		t.above = append(t.above, part)
	}
	if t.version, err = versionOf(root); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", config.Directory, err), root.Close())
	}
	t.files = filesV1
	if t.version == V2 {
		t.files = filesV2
	}
	return t, nil
}

// versionOf applies the criteria of systemd and the kubelet. With both versions mounted, as in systemd's hybrid mode,
// the controllers are those of version 1.
func versionOf(root *os.Root) (Version, error) {
	if _, err := root.Stat("cgroup.controllers"); err == nil {
		return V2, nil
	}
	for _, f := range []file{filesV1.cpu, filesV1.memory} {
		if _, err := root.Stat(f.in("")); err != nil {
			return 0, errors.New("it has neither cgroup.controllers of version 2 nor cpuacct and memory of version 1")
		}
	}
	return V1, nil
}

// Version returns the tree's.
func (t *Tree) Version() Version { return t.version }

// Close ends the use of the tree. Containers that were found remain usable.
func (t *Tree) Close() error { return t.root.Close() }

// Container finds a container. The error wraps ErrNotFound if there is none.
func (t *Tree) Container(name Name) (*Container, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	cgroup, began, err := t.find(name)
	if err != nil {
		return nil, err
	}
	c := &Container{version: t.version, began: began}
	if err := t.open(c, cgroup); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// find returns the container's cgroup, and the modification time of its directory.
func (t *Tree) find(name Name) (cgroup string, began time.Time, err error) {
	last := int(t.driver.Load())
	for i := range drivers {
		place := (last + i) % len(drivers)
		cgroup, began, err = t.findBy(&drivers[place], name)
		if err == nil {
			t.driver.Store(int64(place))
		}
		if !errors.Is(err, ErrNotFound) {
			return cgroup, began, err
		}
	}
	return "", time.Time{}, ErrNotFound
}

// findBy finds a cgroup by the names of one driver.
func (t *Tree) findBy(d *driver, name Name) (cgroup string, began time.Time, err error) {
	for _, pod := range d.podPaths(t.above, name.PodUID) {
		if _, err := t.stat(pod); isAbsent(err) {
			continue
		} else if err != nil {
			return "", time.Time{}, fmt.Errorf("looking for a pod's cgroup: %w", err)
		}
		for _, form := range d.containers {
			cgroup = path.Join(pod, fmt.Sprintf(form, name.ID))
			info, err := t.stat(cgroup)
			switch {
			case err == nil:
				return cgroup, info.ModTime(), nil
			case !isAbsent(err):
				return "", time.Time{}, fmt.Errorf("looking for a container's cgroup: %w", err)
			}
		}
	}
	return "", time.Time{}, ErrNotFound
}

// stat stats a cgroup's directory in the controller that counts its CPU.
func (t *Tree) stat(cgroup string) (fs.FileInfo, error) {
	return t.root.Stat(path.Join(t.files.cpu.controller, cgroup))
}

// open opens the container's files, which remain open: finding them again for each sample
// costs more than reading them.
func (t *Tree) open(c *Container, cgroup string) error {
	for _, f := range []struct {
		file       file
		opened     **os.File
		isOptional bool
	}{
		{t.files.cpu, &c.cpu, false}, {t.files.memory, &c.memory, false}, {t.files.memoryStat, &c.memoryStat, false},
		{t.files.throttling, &c.throttling, true}, {t.files.pressure, &c.pressure, true},
	} {
		if f.file.name == "" {
			continue
		}
		opened, err := t.root.Open(f.file.in(cgroup))
		switch {
		case err == nil:
			*f.opened = opened
		case !isAbsent(err):
			return fmt.Errorf("opening %s: %w", f.file.name, err)
		case !f.isOptional:
			return fmt.Errorf("%w: %s is not there", ErrNotFound, f.file.name)
		}
	}
	return nil
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
