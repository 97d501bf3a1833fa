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
// The way that is gone is rounded up to whole replicas and changes at whole seconds after the ramp's start, so that a
// steep ramp has one step a second.
type ramp struct {
	start time.Time
	over  time.Duration
	// from is the bound without the schedule when the ramp starts: it stays the same, so that the bound never turns back
	// on the way.
	from, to int32
}

// at is the bound at a time from the start to the end of the ramp, and the time of the next step; zero after the last.
// Of no ramp both are zero.
func (r *ramp) at(now time.Time) (bound int32, step time.Time) {
	if r.over == 0 {
		return 0, time.Time{}
	}
	way, sign := int64(r.to)-int64(r.from), int64(1)
	if way < 0 {
		way, sign = -way, -1
	}
	elapsed := now.Sub(r.start).Truncate(time.Second)
	gone := min(way, arithmetic.Saturate.MulDiv(way, int64(elapsed), int64(r.over))+1)
	bound = arithmetic.Saturate.ToInt32(int64(r.from) + sign*gone)
	if gone == way {
		return bound, time.Time{}
	}
	return bound, r.start.Add(r.until(gone, way))
}

// until is after how many whole seconds the ramp has gone one replica further.
func (r *ramp) until(gone, way int64) time.Duration {
	d := time.Duration(arithmetic.Saturate.MulDiv(gone, int64(r.over), way)).Truncate(time.Second)
	for arithmetic.Saturate.MulDiv(way, int64(d), int64(r.over)) < gone {
		d += time.Second
	}
	return d
}
