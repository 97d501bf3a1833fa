package kubelet

import (
	"runtime"
	"time"
)

// spend does something and tells how much CPU that cost. The goroutine keeps its thread
// meanwhile, whose clock stands still while it waits.
func spend(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	do()
	return threadTime() - began
}
