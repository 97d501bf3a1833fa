package usage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Summary makes one sample of a container's many in an interval: of CPU the mean, as
// percentiles must not depend on how often use is sampled; of memory the highest, as the
// peak is what has to fit. The zero value has none.
type Summary struct {
	// sum, of CPU, is weighted by the time that each sample was measured over.
	sum, weight float64
	highest     vertical.Amount
	has         [vertical.Resources]bool
	last        [vertical.Resources]vertical.Stamp
}

// Add takes one in that was measured over some time, and ended then. Samples of a
// moment count alike. A sample that is not newer than the last is left out.
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

// Take returns the one sample of a resource and when the last of the many was, if there is any. Later samples begin
// anew.
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
