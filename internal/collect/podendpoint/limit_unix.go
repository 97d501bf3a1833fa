//go:build unix

package podendpoint

import (
	"math"
	"syscall"
)

// maxOpen is the maximum of open connections: four fifths of the process's file descriptors. Go raises the soft limit
// to the hard one.
func maxOpen() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64
	}
	return int64(min(limit.Max, math.MaxInt32)) / 5 * 4
}
