package horizontal

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// leastPace is how many statuses a second may always be written for their numbers alone.
	leastPace = 10
	// paceMargin is by how much faster than necessary all objects may be written.
	paceMargin = 1.25
)

// paceOf is how many statuses may be written in a second for their numbers alone: as many
// as it takes for so many objects in an interval, and some more. Objects that came
// together, as all do at the start, would write together again each interval, and the
// API server would have no time for anything else.
func paceOf(objects int, interval time.Duration) rate.Limit {
	if interval <= 0 {
		return rate.Inf
	}
	return rate.Limit(max(leastPace, paceMargin*float64(objects)/interval.Seconds()))
}
