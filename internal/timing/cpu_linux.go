package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how much CPU this thread has spent. Unlike that of getrusage it is exact: that one's is of the last
// tick of the scheduler, which is milliseconds ago.
func threadTime() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		return 0 // never: neither argument can be wrong
	}
	return time.Duration(spent.Nano())
}
