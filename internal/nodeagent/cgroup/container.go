package cgroup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"time"
)

// maxFileBytes bounds a file. The longest, memory.stat, has some 2 kB.
const maxFileBytes = 16 << 10

// ErrMalformed is returned for a file that no kernel writes.
var ErrMalformed = errors.New("unexpected content")

// Buffer holds the content of a file. It must be used by one goroutine at a time.
type Buffer [maxFileBytes]byte

// Container is a container's cgroup. It must be used by one goroutine at a time.
type Container struct {
	version Version
	began   time.Time
	// throttling and pressure are nil where the kernel has none.
	cpu, memory, memoryStat, throttling, pressure *os.File
}

// Began returns a time between the container's start and the search that found it: the kernel keeps none that is more
// exact.
func (c *Container) Began() time.Time { return c.began }

// Close closes the container's files.
func (c *Container) Close() error {
	var errs []error
	for _, f := range []*os.File{c.cpu, c.memory, c.memoryStat, c.throttling, c.pressure} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// CPUNanos returns the CPU time that the container has used.
func (c *Container) CPUNanos(b *Buffer) (int64, error) {
	text, err := read(c.cpu, b)
	if err != nil {
		return 0, err
	}
	if c.version == V1 {
		return asNumber(c.cpu, text)
	}
	micros, err := field(c.cpu, text, "usage_usec")
	return times(micros, 1000), err
}

// WorkingSetBytes returns the container's working set, as the kubelet computes it.
func (c *Container) WorkingSetBytes(b *Buffer) (int64, error) {
	text, err := read(c.memory, b)
	if err != nil {
		return 0, err
	}
	usage, err := asNumber(c.memory, text)
	if err != nil {
		return 0, err
	}
	if text, err = read(c.memoryStat, b); err != nil {
		return 0, err
	}
	name := "inactive_file"
	if c.version == V1 {
		name = "total_inactive_file"
	}
	inactive, err := field(c.memoryStat, text, name)
	if err != nil {
		return 0, err
	}
	return max(usage-inactive, 0), nil
}

// Throttling counts how often the container's CPU limit stopped it.
type Throttling struct {
	// Periods are the CFS periods in which the container ran, Throttled those of them in which it was stopped, and Time
	// for how long.
	Periods, Throttled int64
	Time               time.Duration
}

// Throttling returns the kernel's counters; false if it has none.
func (c *Container) Throttling(b *Buffer) (t Throttling, ok bool, err error) {
	if c.throttling == nil {
		return t, false, nil
	}
	text, err := read(c.throttling, b)
	if err != nil {
		return t, false, err
	}
	name, unit := "throttled_time", int64(1)
	if c.version == V2 {
		name, unit = "throttled_usec", int64(time.Microsecond)
	}
	var errs [3]error
	t.Periods, errs[0] = field(c.throttling, text, "nr_periods")
	t.Throttled, errs[1] = field(c.throttling, text, "nr_throttled")
	stopped, err := field(c.throttling, text, name)
	t.Time, errs[2] = time.Duration(times(stopped, unit)), err
	if errors.Join(errs[:]...) != nil {
		// Version 2 has these only where the controller cpu is enabled.
		return Throttling{}, false, nil //nolint:nilerr // it counts nothing
	}
	return t, true, nil
}

// CPUPressure returns how long some of the container's tasks have waited for a CPU; false if the kernel does not count
// it.
func (c *Container) CPUPressure(b *Buffer) (waited time.Duration, ok bool, err error) {
	if c.pressure == nil {
		return 0, false, nil
	}
	text, err := read(c.pressure, b)
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP):
		// Kernels that are booted with psi=0.
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	micros, err := pressureTotal(c.pressure, text)
	return time.Duration(times(micros, int64(time.Microsecond))), err == nil, err
}

// read reads a whole file from its start. The kernel produces the text again for each read, also for one that only
// reaches the end: a text that ends with a line is complete, and is not read again to detect the end.
func read(f *os.File, b *Buffer) ([]byte, error) {
	n := 0
	var err error
	for err == nil && n < len(b) && (n == 0 || b[n-1] != '\n') {
		var more int
		more, err = f.ReadAt(b[n:], int64(n))
		n += more
	}
	switch {
	case errors.Is(err, syscall.ENODEV):
		// The cgroup was removed while its file was open.
		return nil, ErrNotFound
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	case n == len(b):
		return nil, fmt.Errorf("%s has more than %d bytes: %w", f.Name(), maxFileBytes-1, ErrMalformed)
	}
	return b[:n], nil
}

// times multiplies non-negative numbers, and saturates.
func times(n, factor int64) int64 {
	if n > math.MaxInt64/factor {
		return math.MaxInt64
	}
	return n * factor
}
