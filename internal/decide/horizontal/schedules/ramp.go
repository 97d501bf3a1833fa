package schedules

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

// ramp is the rise of a schedule's min before a start.
//
//	min
//	to    |                ________
//	      |           ____|
//	      |      ____|
//	from  |_____|
//	          start   end - 1 step  end
//
// The min is rounded up to whole replicas and changes at whole seconds after the ramp's start, so that a steep ramp has
// one step a second.
type ramp struct {
	start time.Time
	over  time.Duration
	// from is the min without the schedule when the ramp starts: it stays the same, so that the min never falls on the
	// way.
	from, to int32
}

// rise is by how much the min rises; a ramp to no more than there is anyway is none.
func (r *ramp) rise() int64 { return max(0, int64(r.to)-int64(r.from)) }

// at is the min at a time from the start to the end of the ramp, and the time of the next step; zero after the last.
func (r *ramp) at(now time.Time) (least int32, step time.Time) {
	rise := r.rise()
	elapsed := now.Sub(r.start).Truncate(time.Second)
	risen := min(rise, arithmetic.Saturate.MulDiv(rise, int64(elapsed), int64(r.over))+1)
	least = arithmetic.Saturate.ToInt32(int64(r.from) + risen)
	if risen == rise {
		return least, time.Time{}
	}
	return least, r.start.Add(r.until(risen, rise))
}

// until is after how many whole seconds the ramp has risen by one replica more.
func (r *ramp) until(risen, rise int64) time.Duration {
	d := time.Duration(arithmetic.Saturate.MulDiv(risen, int64(r.over), rise)).Truncate(time.Second)
	for arithmetic.Saturate.MulDiv(rise, int64(d), int64(r.over)) < risen {
		d += time.Second
	}
	return d
}
