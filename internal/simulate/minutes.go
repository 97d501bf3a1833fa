package simulate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// Minute is a minute of a run, or what is left of one at its end.
type Minute struct {
	// Lacking are the pod-minutes in which a pod was lacking, Paid those that there were, and Needed those that the
	// target asked for. A pod is lacking while the ready ones cannot serve the load with all that they request.
	Lacking, Paid, Needed float32
	// Forecast is the most that the forecast asked for in it, whatever its mode, and Reason why, at its end.
	Forecast int32
	Reason   forecast.Reason
}

// minutes are those of a run, oldest first.
type minutes []Minute

// at is the minute of a time since the load began.
func (m *minutes) at(at time.Duration) *Minute {
	for len(*m) <= int(at/time.Minute) {
		*m = append(*m, Minute{})
	}
	return &(*m)[at/time.Minute]
}

// add adds the second that ends at a moment.
func (m *minutes) add(moment *Moment) {
	const second = 1.0 / 60
	minute := m.at(moment.At - time.Second)
	if moment.IsShort {
		minute.Lacking += second * float32(moment.Need-moment.Ready)
	}
	minute.Paid += second * float32(moment.Paid)
	minute.Needed += second * float32(moment.Need)
}

// decided adds a decision.
func (m *minutes) decided(at time.Duration, r *forecast.Result) {
	minute := m.at(at)
	minute.Forecast, minute.Reason = max(minute.Forecast, r.Replicas), r.Reason
}
