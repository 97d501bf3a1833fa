//go:build !linux

package cputime

import "time"

var began = time.Now()

// threadTime is the time, where threads have no clock that is easy to read: waiting
// counts as if it were CPU.
func threadTime() time.Duration { return time.Since(began) }
