// Package cputime measures the CPU that a function takes.
package cputime

import (
	"runtime"
	"time"
)

// Spend does something and tells how much CPU that cost. The goroutine keeps its thread
// meanwhile, whose clock stands still while it waits.
func Spend(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	do()
	return threadTime() - began
}
