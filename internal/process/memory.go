package process

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapGrowth is the percentage by which the heap grows before garbage is collected. Most of a controller's memory is
// caches, which stay, and Go's default of 100 holds as much again for garbage. A decision leaves 3 kB of it: at 2,000
// decisions a second and 42 MB of caches that is a collection each 3 s instead of each 7 s, estimated to cost a
// hundredth of a core.
const heapGrowth = 40

// heapShare is Go's own memory limit as a fraction of the container's. Beyond it the heap is collected as often as
// needed, before the kernel kills the process.
const heapShare = 0.9

// setMemoryLimits is for long-running processes; GOGC and GOMEMLIMIT have precedence, as in any Go program.
func setMemoryLimits() {
	setGCPercent()
	if os.Getenv("GOMEMLIMIT") == "" {
		limitHeap(memlimit.FromCgroup)
	}
}

func setGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// limitHeap applies the control group's limit. It does nothing without one, or if it cannot be read.
func limitHeap(ofContainer func() (bytes uint64, err error)) {
	if bytes, err := ofContainer(); err == nil && bytes > 0 {
		debug.SetMemoryLimit(int64(float64(bytes) * heapShare))
	}
}
