package schedules

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

// ramp is the rise of a schedule's min before a start, or the fall of its max, which is the same upside down. The zero
// value is none.
//
//	min
//	to    |                ________
//	      |           ____|
//	      |      ____|
//	from  |_____|
//	          start   end - 1 step  end
//
// The bound moves in steps, rounded up, at whole seconds after the ramp's start. A step is one replica, or more to stay
// within the number of steps that stepPeriod or mostSteps allow: each step is a full decision, and perhaps a write, for
// all objects whose schedules start together.
type ramp struct {
	start time.Time
	over  time.Duration
	// from is the bound without the schedule when the ramp starts. It stays constant, so that the bound moves in one
	// direction. It differs from to.
	from, to int32
}

const (
	// stepPeriod is the shortest mean time of a step of a long ramp: the sync period.
	stepPeriod = 15 * time.Second
	// mostSteps is the largest number of steps of a short ramp.
	mostSteps = 10
)

// at returns the bound at a time from the start to the end of the ramp, and the time of the next step; zero after the
// last. Both are zero without a ramp.
func (r *ramp) at(now time.Time) (bound int32, step time.Time) {
	if r.over == 0 {
		return 0, time.Time{}
	}
	way, sign := int64(r.to)-int64(r.from), int64(1)
	if way < 0 {
		way, sign = -way, -1
	}
	elapsed := now.Sub(r.start).Truncate(time.Second)
	steps := max(mostSteps, int64(r.over/stepPeriod))
	size := (way + steps - 1) / steps
	gone := min(way, (arithmetic.Saturate.MulDiv(way, int64(elapsed), int64(r.over))/size+1)*size)
	bound = arithmetic.Saturate.ToInt32(int64(r.from) + sign*gone)
	if gone == way {
		return bound, time.Time{}
	}
	return bound, r.start.Add(r.until(gone, way))
}

// until returns the number of whole seconds from the ramp's start to the next step.
func (r *ramp) until(gone, way int64) time.Duration {
	d := time.Duration(arithmetic.Saturate.MulDiv(gone, int64(r.over), way)).Truncate(time.Second)
	for arithmetic.Saturate.MulDiv(way, int64(d), int64(r.over)) < gone {
		d += time.Second
	}
	return d
}
