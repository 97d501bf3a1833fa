//go:build !linux

package timing

import "time"

var processBegan = time.Now()

// threadTime is the time, where threads have no clock that is easy to read: waiting
// counts as if it were CPU.
func threadTime() time.Duration { return time.Since(processBegan) }
