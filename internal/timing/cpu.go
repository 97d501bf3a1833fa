package timing

import (
	"runtime"
	"time"
)

// CPUOf does something and tells how much CPU that cost. The goroutine keeps its thread
// meanwhile, whose clock stands still while it waits.
func CPUOf(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	do()
	return threadTime() - began
}
