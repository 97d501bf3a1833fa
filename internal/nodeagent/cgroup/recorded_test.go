package cgroup_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
)

// TestRecorded reads files of real kernels. The README.md of testdata describes what the container did: the values must
// match that.
func TestRecorded(t *testing.T) {
	names, err := filepath.Glob("testdata/recorded/v*.txt")
	if err != nil || len(names) != 12 {
		t.Fatalf("trees %q: %v", names, err)
	}
	for _, name := range names {
		name = filepath.Join("recorded", filepath.Base(name))
		t.Run(filepath.Base(name), func(t *testing.T) {
			tree := opened(t, cgroup.Config{Directory: written(t, name)})
			isV2 := tree.Version() == cgroup.V2
			if isV2 != strings.HasPrefix(filepath.Base(name), "v2") {
				t.Errorf("version %d", tree.Version())
			}
			wantWork(t, found(t, tree, cgroup.Name{PodUID: uid, ID: id}), isV2)
			wantSleep(t, found(t, tree, cgroup.Name{PodUID: uid, ID: sandbox}), isV2)
		})
	}
}

func wantWork(t *testing.T, container *cgroup.Container, isV2 bool) {
	t.Helper()
	buffer := new(cgroup.Buffer)
	nanos, err := container.CPUNanos(buffer)
	within(t, "CPU, about a second", nanos, bounds{9e8, 14e8}, err)
	// The pages of the disk are not in use.
	bytes, err := container.WorkingSetBytes(buffer)
	within(t, "working set, 24 MiB and what a program of Go has", bytes, bounds{24 << 20, 28 << 20}, err)
	// All periods of 100 ms, some 50, were throttled for 80 ms.
	got, isKnown, err := container.Throttling(buffer)
	within(t, "periods", got.Periods, bounds{45, 70}, err)
	within(t, "throttled periods", got.Throttled, bounds{40, got.Periods}, err)
	within(t, "throttled for", int64(got.Time), bounds{int64(3 * time.Second), int64(6 * time.Second)}, err)
	waited, hasPressure, err := container.CPUPressure(buffer)
	if hasPressure {
		within(t, "pressure", int64(waited), bounds{int64(3 * time.Second), int64(7 * time.Second)}, err)
	}
	if !isKnown || hasPressure != isV2 {
		t.Errorf("throttling is known: %t, pressure: %t, %v", isKnown, hasPressure, err)
	}
}

func wantSleep(t *testing.T, container *cgroup.Container, isV2 bool) {
	t.Helper()
	buffer := new(cgroup.Buffer)
	nanos, err := container.CPUNanos(buffer)
	within(t, "CPU", nanos, bounds{1, 2e8}, err)
	bytes, err := container.WorkingSetBytes(buffer)
	within(t, "working set", bytes, bounds{1, 8 << 20}, err)
	got, isKnown, err := container.Throttling(buffer)
	within(t, "throttled periods", got.Throttled, bounds{0, 0}, err)
	waited, hasPressure, err := container.CPUPressure(buffer)
	within(t, "pressure", int64(waited), bounds{0, int64(time.Second)}, err)
	if !isKnown || hasPressure != isV2 {
		t.Errorf("throttling is known: %t, pressure: %t", isKnown, hasPressure)
	}
}

// bounds are the minimum and the maximum of a value.
type bounds struct{ least, most int64 }

// within expects a value within bounds, and no error.
func within(t *testing.T, what string, value int64, b bounds, err error) {
	t.Helper()
	if err != nil || value < b.least || value > b.most {
		t.Errorf("%s: %d, want %d to %d: %v", what, value, b.least, b.most, err)
	}
}
