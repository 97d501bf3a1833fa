package simulate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// Minute is a minute of a run, or what is left of one at its end.
type Minute struct {
	// Tally is what is counted of it, as forecasts count what they play back; Needed are the pod-minutes that the target
	// asked for.
	playback.Tally
	Needed float32
	// Forecast is the most that the forecast asked for in it, whatever its mode, and Reason why, at its end.
	Forecast int32
	Reason   forecast.Reason
}

// minutes has the minutes of a run, oldest first.
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
	minute.Add(second, moment.IsShort, int32(moment.Need), int32(moment.Ready), int32(moment.Paid))
	minute.Needed += second * float32(moment.Need)
}

func (m *minutes) decided(at time.Duration, r *forecast.Result) {
	minute := m.at(at)
	minute.Forecast, minute.Reason = max(minute.Forecast, r.Replicas), r.Reason
}
