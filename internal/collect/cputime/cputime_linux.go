package cputime

import (
	"syscall"
	"time"
)

// thisThread is RUSAGE_THREAD.
const thisThread = 1

// threadTime is how much CPU this thread has spent.
func threadTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(thisThread, &usage); err != nil {
		return 0 // never: neither argument can be wrong
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
