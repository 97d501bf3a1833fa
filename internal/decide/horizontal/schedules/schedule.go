// Package schedules bounds the replica count by the clock. A schedule is in force from each of its starts for its
// duration, or until the next of its ends: its minReplicas may raise the object's, its maxReplicas may lower it. If
// several are in force, the highest min and the lowest max apply, and if these contradict each other the max.
//
// A schedule starts whenever the clock of its time zone shows a time that its cron expression matches, and ends
// likewise. When the clock is set forward, a start or an end in the skipped hour takes place at that moment. When it is
// set back, one in the repeated hour happens twice. Durations and ramps are elapsed time.
package schedules

import "time"

// Cron has the times that a cron expression matches.
//
// Next returns the first match after a time, by the clock of that time's own location. It is the zero time if there is
// none within some years. The result of ParseStandard in github.com/robfig/cron/v3 is a Cron if the expression names no
// time zone.
type Cron interface {
	Next(after time.Time) time.Time
}

// Schedule is one schedule of an object. It is immutable.
type Schedule struct {
	Name string
	// Start has the starts by the clock of Location; nil is UTC.
	Start    Cron
	Location *time.Location
	// Duration is the time for which the schedule is in force after a start. If End is set, the schedule is instead in
	// force until the next end, by the clock of Location.
	Duration time.Duration
	End      Cron
	// NotBefore and NotAfter bound when it is in force; zero means no bound. It is no longer at NotAfter itself.
	NotBefore, NotAfter time.Time
	// MinReplicas and MaxReplicas are the bounds while it is in force; 0 means none.
	MinReplicas, MaxReplicas int32
	// Ramp is the time before a start at which the min begins to rise and the max to fall; 0 means at the start.
	Ramp time.Duration
}

const (
	// gap is the shortest time between two starts: cron expressions have minutes.
	gap = time.Minute
	// farthest is the time for which starts are searched across changes of the clock, as far as cron searches.
	farthest = 5 * 366 * 24 * time.Hour
	// maxRepeats bounds the starts in a row that are followed although each comes before the end of the last.
	maxRepeats = 8
)

// next returns the first start after a time; zero if there is none.
func (s *Schedule) next(after time.Time) time.Time { return s.match(s.Start, after) }

// match returns the first match of the expression after a time; zero if there is none.
//
// Between two changes of the zone's clock it evaluates the cron expression as if the clock had never changed, because
// the expression's own handling of a change depends on where the search starts.
func (s *Schedule) match(cron Cron, after time.Time) time.Time {
	zone, from := after.In(s.location()), after
	for zone.Sub(after) < farthest {
		_, seconds := zone.Zone()
		offset := time.Duration(seconds) * time.Second
		match := cron.Next(from.UTC().Add(offset))
		if match.IsZero() {
			return time.Time{}
		}
		at := match.Add(-offset)
		_, change := zone.ZoneBounds()
		if change.IsZero() || at.Before(change) {
			return at
		}
		if _, later := change.Zone(); at.Before(change.Add(time.Duration(later)*time.Second - offset)) {
			return change // The clock skips it.
		}
		// A match at the change itself counts.
		zone, from = change, change.Add(-time.Nanosecond)
	}
	return time.Time{}
}

func (s *Schedule) location() *time.Location {
	if s.Location == nil {
		return time.UTC
	}
	return s.Location
}

// end returns the end of the schedule that has started then; zero if there is no end in sight.
func (s *Schedule) end(start time.Time) time.Time {
	if s.End != nil {
		return s.match(s.End, start)
	}
	return start.Add(s.Duration)
}

// latest returns the last start that has not ended now; zero if there is none.
func (s *Schedule) latest(now time.Time) time.Time {
	if s.End == nil {
		return s.lastWithin(s.Duration, now)
	}
	start := s.lastWithin(farthest, now)
	if start.IsZero() {
		return start
	}
	if end := s.end(start); !end.IsZero() && !end.After(now) {
		return time.Time{}
	}
	return start
}

// lastWithin returns the last start within a time before now; zero if there is none. With frequent starts one is close
// to now: the search starts there, with steps that double.
func (s *Schedule) lastWithin(back time.Duration, now time.Time) time.Time {
	start, found := s.nextUntil(now.Add(-back), now)
	if !found {
		return time.Time{}
	}
	// No start is between high and now.
	for high, step := now, gap; high.Sub(start) >= gap; step *= 2 {
		later, found := s.nextUntil(start, now)
		if !found {
			return start
		}
		start = later
		middle := high.Add(-min(step, high.Sub(start)/2))
		if later, found = s.nextUntil(middle, now); found {
			start = later
		} else {
			high = middle
		}
	}
	return start
}

// nextUntil returns the first start after a time, if it is not later than the end.
func (s *Schedule) nextUntil(after, end time.Time) (start time.Time, found bool) {
	start = s.next(after)
	return start, !start.IsZero() && !start.After(end)
}

// until returns when a schedule that has started then is no longer in force: starts before the end prolong it. It is
// zero if there is no end in sight.
func (s *Schedule) until(start time.Time) time.Time {
	for range maxRepeats {
		end := s.end(start)
		if end.IsZero() {
			break
		}
		if start = s.latest(end); start.IsZero() {
			return earlier(end, s.NotAfter)
		}
	}
	return s.NotAfter
}

// inForce returns since when the schedule is in force; zero if it is not.
func (s *Schedule) inForce(now time.Time) time.Time {
	if now.Before(s.NotBefore) || s.isOver(now) {
		return time.Time{}
	}
	return s.latest(now)
}

func (s *Schedule) isOver(now time.Time) bool { return !s.NotAfter.IsZero() && !now.Before(s.NotAfter) }

// comes returns when the schedule is in force next, after now; zero if it never is.
func (s *Schedule) comes(now time.Time) time.Time {
	var next time.Time
	switch {
	case !now.Before(s.NotBefore):
		next = s.next(now)
	case !s.latest(s.NotBefore).IsZero():
		next = s.NotBefore
	default:
		next = s.next(s.NotBefore)
	}
	if s.isOver(next) {
		return time.Time{}
	}
	return next
}
