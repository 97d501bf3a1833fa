package e2e

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// cpuTime is the time of this machine's CPUs since its start, in seconds.
type cpuTime struct{ idle, all float64 }

func readCPUTime() (cpuTime, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return cpuTime{}, fmt.Errorf("CPU time of this machine: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return cpuTime{}, fmt.Errorf("CPU time of this machine: %w", err)
	}
	total := &stat.CPUTotal
	idle := total.Idle + total.Iowait
	used := total.User + total.Nice + total.System + total.IRQ + total.SoftIRQ + total.Steal
	return cpuTime{idle: idle, all: idle + used}, nil
}

// busySince is the part of the CPU time since then that was used, from 0 to 1.
func (t cpuTime) busySince(before cpuTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return 1 - (t.idle-before.idle)/(t.all-before.all)
}
