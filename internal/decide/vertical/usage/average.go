package usage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Average makes one sample of a container's many: percentiles must not depend on
// how often it is asked. The zero value has none.
type Average struct {
	sum, weight [vertical.Resources]float64
	last        [vertical.Resources]vertical.Stamp
}

// Add takes one in that was measured over some time, and ended then. Samples of a
// moment count alike. A sample that is not newer than the last is left out.
func (a *Average) Add(r vertical.Resource, amount vertical.Amount, over time.Duration, at time.Time) {
	stamp := vertical.StampOf(at)
	if !a.last[r].Before(stamp) || amount < 0 {
		return
	}
	weight := over.Seconds()
	if weight <= 0 {
		weight = 1
	}
	a.sum[r] += float64(amount) * weight
	a.weight[r] += weight
	a.last[r] = stamp
}

// Take is the average of a resource and when its last sample was, if there is
// any. Later samples begin anew.
func (a *Average) Take(r vertical.Resource) (amount vertical.Amount, at time.Time, ok bool) {
	if a.weight[r] == 0 {
		return 0, time.Time{}, false
	}
	amount = vertical.AmountOf(a.sum[r] / a.weight[r])
	a.sum[r], a.weight[r] = 0, 0
	return amount, a.last[r].Time(), true
}
