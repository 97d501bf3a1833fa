package usage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Summary combines a container's samples in an interval into one: the mean of CPU, because percentiles must not depend
// on how often use is sampled; the maximum of memory, because the peak has to fit. The zero value is empty.
type Summary struct {
	// sum, of CPU, is weighted by the time that each sample was measured over.
	sum, weight float64
	highest     vertical.Amount
	has         [vertical.Resources]bool
	last        [vertical.Resources]vertical.Stamp
}

// Add adds a sample that was measured over some time and ended at at. Samples without a duration have equal weights. It
// ignores a sample that is not newer than the last.
func (s *Summary) Add(r vertical.Resource, amount vertical.Amount, over time.Duration, at time.Time) {
	stamp := vertical.StampOf(at)
	if !s.last[r].Before(stamp) || amount < 0 {
		return
	}
	s.last[r], s.has[r] = stamp, true
	if r == vertical.Memory {
		s.highest = max(s.highest, amount)
		return
	}
	weight := over.Seconds()
	if weight <= 0 {
		weight = 1
	}
	s.sum += float64(amount) * weight
	s.weight += weight
}

// Take returns the combined sample of a resource and the time of the last one, and resets it; false without samples.
func (s *Summary) Take(r vertical.Resource) (amount vertical.Amount, at time.Time, ok bool) {
	if !s.has[r] {
		return 0, time.Time{}, false
	}
	s.has[r] = false
	if r == vertical.Memory {
		amount, s.highest = s.highest, 0
	} else {
		amount = vertical.AmountOf(s.sum / s.weight)
		s.sum, s.weight = 0, 0
	}
	return amount, s.last[r].Time(), true
}
