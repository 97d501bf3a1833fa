package process

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapGrowth is by how many percent the heap grows before what is no longer used is
// collected. Most of a controller's memory are caches, which stay, and Go's default
// of 100 holds as much again for garbage. A decision leaves 3 kB of it: at 2,000
// decisions a second and 42 MB of caches that is a collection each 3 s instead of
// each 7 s, reckoned to cost a hundredth of a core.
const heapGrowth = 40

// heapShare is how much of the container's memory limit Go's own limit is. Beyond it the
// heap is collected as often as it takes: before the kernel kills the process.
const heapShare = 0.9

// setMemoryLimits is for processes that run for long; GOGC and GOMEMLIMIT are heeded as in
// any program in Go.
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

// limitHeap takes the limit that the control group has. Where there is none, or it
// cannot be read, there is none.
func limitHeap(ofContainer func() (bytes uint64, err error)) {
	if bytes, err := ofContainer(); err == nil && bytes > 0 {
		debug.SetMemoryLimit(int64(float64(bytes) * heapShare))
	}
}
