package agents

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
)

// filesPerContainer is the number of files of a container that an agent keeps open here.
const filesPerContainer = 3

// container is one of a node, with the parts of its cgroup's name.
type container struct {
	place      population.Place
	podUID, id string
}

// tree is a node's cgroups in a folder. They are of version 1, where a container's CPU is a number alone, named as the
// kubelet with cgroupfs and containerd names them. There are only the files without which an agent has no samples: each
// is open in this process, for all containers of all nodes.
type tree struct {
	counters []counter
}

// counter is a container's CPU time. Its file is mapped, because the agent's reading is to be measured: opening and
// writing a file costs more than that.
type counter struct {
	place  population.Place
	mapped []byte
}

// counterDigits is the length of the number with its leading zeros: another length would change the file's size.
const counterDigits = 19

// newTree writes the files.
func newTree(directory string, containers []container, memoryBytes int64) (*tree, error) {
	t := &tree{}
	for _, controller := range []string{"cpuacct", "memory"} {
		for name, content := range rootFiles(controller) {
			if err := cgrouptest.WriteFile(filepath.Join(directory, controller, name), content); err != nil {
				return nil, fmt.Errorf("tree of cgroups: %w", err)
			}
		}
	}
	for _, c := range containers {
		if err := t.add(directory, c, memoryBytes); err != nil {
			return nil, errors.Join(fmt.Errorf("tree of cgroups: %w", err), t.close())
		}
	}
	return t, nil
}

// rootFiles are those by which the agent detects the version.
func rootFiles(controller string) map[string]string {
	if controller == "memory" {
		return map[string]string{"memory.usage_in_bytes": "0\n"}
	}
	return map[string]string{"cpuacct.usage": "0\n"}
}

func (t *tree) add(directory string, c container, memoryBytes int64) error {
	cgroup := path.Join("kubepods", "burstable", "pod"+c.podUID, c.id)
	usage := filepath.Join(directory, "cpuacct", cgroup, "cpuacct.usage")
	err := errors.Join(
		cgrouptest.WriteFile(usage, fmt.Sprintf("%0*d\n", counterDigits, 0)),
		cgrouptest.WriteFile(filepath.Join(directory, "memory", cgroup, "memory.usage_in_bytes"),
			strconv.FormatInt(memoryBytes, 10)+"\n"),
		cgrouptest.WriteFile(filepath.Join(directory, "memory", cgroup, "memory.stat"), "total_inactive_file 0\n"),
	)
	if err != nil {
		return err
	}
	mapped, err := mapFile(usage)
	if err != nil {
		return err
	}
	t.counters = append(t.counters, counter{place: c.place, mapped: mapped})
	return nil
}

// mapFile maps the digits of a file.
func mapFile(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, counterDigits, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return mapped, errors.Join(err, file.Close())
}

// advance moves all counters to a time.
func (t *tree) advance(at time.Time, usedSeconds func(population.Place, time.Time) float64) {
	for i := range t.counters {
		c := &t.counters[i]
		nanos := int64(usedSeconds(c.place, at) * 1e9)
		for digit := counterDigits - 1; digit >= 0; digit-- {
			c.mapped[digit] = byte('0' + nanos%10)
			nanos /= 10
		}
	}
}

func (t *tree) close() error {
	var errs []error
	for i := range t.counters {
		errs = append(errs, unix.Munmap(t.counters[i].mapped))
	}
	t.counters = nil
	return errors.Join(errs...)
}
