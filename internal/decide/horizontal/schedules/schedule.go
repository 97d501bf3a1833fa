// Package schedules bounds the replica count by the clock. A schedule is in force from each of its starts for its
// duration, or until the next of its ends: its minReplicas may raise the object's, its maxReplicas may lower it. Of
// several in force the highest min and the lowest max apply, and where they contradict each other the max.
//
// A schedule starts whenever the clock of its time zone shows a time that its cron expression matches, and ends
// likewise. Where the clock is set forward, a start or an end in the hour that is left out takes place at that moment.
// Where it is set back, one in the hour that comes twice happens twice. Durations and ramps are elapsed time.
package schedules

import "time"

// Cron has the times that a cron expression matches.
//
// Next is the first match after a time, by the clock of that time's own location. It is the zero time if there is none
// within some years. The result of ParseStandard in github.com/robfig/cron/v3 is a Cron if the expression names no time
// zone.
type Cron interface {
	Next(after time.Time) time.Time
}

// Schedule is one schedule of an object. It is not changed once it is made.
type Schedule struct {
	Name string
	// Start has the starts by the clock of Location; nil is UTC.
	Start    Cron
	Location *time.Location
	// Duration is how long the schedule is in force after a start. Where End is set it is in force until the next end, by
	// the clock of Location, in place of that.
	Duration time.Duration
	End      Cron
	// NotBefore and NotAfter bound when it is in force; zero is no bound. It is no longer at NotAfter itself.
	NotBefore, NotAfter time.Time
	// MinReplicas and MaxReplicas are the bounds while it is in force; 0 is none.
	MinReplicas, MaxReplicas int32
	// Ramp is how long before a start the min begins to rise and the max to fall; 0 means at the start.
	Ramp time.Duration
}

const (
	// gap is the least time between two starts: cron expressions have minutes.
	gap = time.Minute
	// farthest is how far ahead starts are searched across changes of the clock, as far as cron searches.
	farthest = 5 * 366 * 24 * time.Hour
	// maxRepeats is how many starts in a row are followed that come before the one before has ended.
	maxRepeats = 8
)

// next returns the first start after a time; zero if there is none.
func (s *Schedule) next(after time.Time) time.Time { return s.match(s.Start, after) }

// match returns the first match of the expression after a time; zero if there is none.
//
// Between two changes of the zone's clock the cron expression is asked as if the clock had never changed. Its own way
// through a change depends on where the search begins.
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
			return change // It is left out.
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

// end returns when what has started then ends; zero if no end is in sight.
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

// lastWithin returns the last start of so long before now; zero if there is none. Where starts come often, one is near
// now: it is looked for from there, in steps that double.
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

// until returns when the schedule is no longer in force that has started then: starts that come before the end prolong
// it. It is zero if there is no end in sight.
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
