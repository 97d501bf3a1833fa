package nodeagent

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryEachSecond: a client that polls each second with some jitter, as the recommender does, gets memory that was
// read each second. With a gap of a whole second between reads it was each other second, and a peak in between was
// missed.
func TestMemoryEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, wanted := filled(t, 1)
		h := handlerOf(t, directory)
		var at []time.Time
		for i := range 30 {
			used := h.samples.usages(wanted[:1], nil)
			if last := used[0].memoryAt; len(at) == 0 || last.After(at[len(at)-1]) {
				at = append(at, last)
			}
			<-time.After(time.Second + time.Duration(i%3-1)*5*time.Millisecond)
		}
		if len(at) < 30 {
			t.Errorf("in 30 s memory was read %d times", len(at))
		}
		// Polling four times a second does not read memory more often.
		first, reads := h.samples.usages(wanted[:1], nil)[0].memoryAt, 0
		for range 40 {
			<-time.After(250 * time.Millisecond)
			if last := h.samples.usages(wanted[:1], nil)[0].memoryAt; last.After(first) {
				first, reads = last, reads+1
			}
		}
		if reads != 10 {
			t.Errorf("in 10 s memory was read %d times", reads)
		}
	})
}
