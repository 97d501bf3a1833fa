// Package schedules bounds the replica count by the clock. A schedule is in force from each of its starts for its
// duration: its minReplicas may raise the object's, its maxReplicas may lower it. Of several in force the highest min
// and the lowest max apply, and where they contradict each other the max.
//
// A schedule starts whenever the clock of its time zone shows a time that its cron expression matches. Where the clock
// is set forward, a start in the hour that is left out does not happen. Where it is set back, a start in the hour that
// comes twice happens twice. Durations and ramps are elapsed time.
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
	// Duration is how long the schedule is in force after a start.
	Duration time.Duration
	// MinReplicas and MaxReplicas are the bounds while it is in force; 0 is none.
	MinReplicas, MaxReplicas int32
	// Ramp is how long before a start the min begins to rise; 0 means that it rises at the start.
	Ramp time.Duration
}

const (
	// gap is the least time between two starts: cron expressions have minutes.
	gap = time.Minute
	// farthest is how far ahead starts are looked for through changes of the clock, as far as cron looks.
	farthest = 5 * 366 * 24 * time.Hour
	// maxRepeats is how many starts in a row are followed that come before the one before has ended.
	maxRepeats = 8
)

// next is the first start after a time; zero if there is none.
//
// Between two changes of the zone's clock the cron expression is asked as if the clock had never changed. Its own way
// through a change depends on where the search begins.
func (s *Schedule) next(after time.Time) time.Time {
	zone, from := after.In(s.location()), after
	for zone.Sub(after) < farthest {
		_, seconds := zone.Zone()
		offset := time.Duration(seconds) * time.Second
		match := s.Start.Next(from.UTC().Add(offset))
		if match.IsZero() {
			return time.Time{}
		}
		start := match.Add(-offset)
		_, change := zone.ZoneBounds()
		if change.IsZero() || start.Before(change) {
			return start
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

// latest is the last start whose duration includes now; zero if there is none. Where starts come often, one is near
// now: it is looked for from there, in steps that double.
func (s *Schedule) latest(now time.Time) time.Time {
	start, found := s.nextUntil(now.Add(-s.Duration), now)
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

// nextUntil is the first start after a time, if it is not later than the end.
func (s *Schedule) nextUntil(after, end time.Time) (start time.Time, found bool) {
	start = s.next(after)
	return start, !start.IsZero() && !start.After(end)
}

// until is when the schedule is no longer in force that has started then: starts that come before the end prolong it.
// It is zero if there is no end in sight.
func (s *Schedule) until(start time.Time) time.Time {
	for range maxRepeats {
		end := start.Add(s.Duration)
		if start = s.latest(end); start.IsZero() {
			return end
		}
	}
	return time.Time{}
}
