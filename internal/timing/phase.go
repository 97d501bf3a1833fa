package timing

import (
	"hash/fnv"
	"time"
)

// Phase is a name's moment in each period, as the time since the start of the period. Names are
// spread evenly over it.
func Phase(name string, period time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	// FNV's bits of similar names are similar. These are the first steps of those that end MurmurHash3.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(x % uint64(max(period, 1)))
}

// Next is the first time that is not before after and in phase.
func Next(after time.Time, phase, period time.Duration) time.Time {
	wait := (phase - time.Duration(after.UnixNano())%period) % period
	if wait < 0 {
		wait += period
	}
	return after.Add(wait)
}
