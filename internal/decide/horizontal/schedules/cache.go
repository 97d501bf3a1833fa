package schedules

import (
	"slices"
	"time"
)

// Cache evaluates one object's schedules, and keeps the result while it holds. It has no history: a new cache gives the
// same results. The zero value is ready to use.
type Cache struct {
	schedules   []Schedule
	own         Bounds
	occurrences []occurrence
	inForce     []InForce
	// result is the result from since until before until.
	result       Result
	since, until time.Time
}

// recheck is the time after which a schedule without a next start is evaluated again.
const recheck = 365 * 24 * time.Hour

// occurrence is the last start of one schedule and its next.
type occurrence struct {
	// start is the last start, end when the schedule is no longer in force; zero as in InForce. Both are meaningless if
	// the schedule is not in force.
	start, end time.Time
	isInForce  bool
	// next is the first start after that; zero if there is none. The occurrence holds until then, or until recheck.
	next, recheck time.Time
	// least and most are the ramps of min and max before next.
	least, most ramp
}

// At returns the result of the schedules now; own are the object's bounds. The result's list is valid until the next
// call.
func (c *Cache) At(now time.Time, all []Schedule, own Bounds) Result {
	isSame := c.own == own && c.isFor(all) && !now.Before(c.since)
	if isSame && now.Before(c.until) {
		return c.result
	}
	if !isSame {
		c.schedules, c.occurrences = all, slices.Grow(c.occurrences[:0], len(all))[:len(all)]
		for i := range c.occurrences {
			c.occurrences[i] = occurrence{}
		}
	}
	c.own, c.since, c.until = own, now, now.Add(recheck)
	for i := range all {
		p := &c.occurrences[i]
		if !now.Before(p.recheck) {
			p.renew(&all[i], now)
			p.setRamps(all, i, own)
		}
		c.until = earlier(c.until, p.recheck)
	}
	c.compute(now)
	return c.result
}

// isFor reports whether these are the schedules of the last call.
func (c *Cache) isFor(all []Schedule) bool {
	return len(c.schedules) == len(all) && (len(all) == 0 || &c.schedules[0] == &all[0])
}

// renew computes the last start and the next.
func (p *occurrence) renew(s *Schedule, now time.Time) {
	*p = occurrence{start: s.inForce(now), next: s.comes(now)}
	if p.isInForce = !p.start.IsZero(); p.isInForce {
		p.end = s.until(p.start)
		if p.start.Before(s.NotBefore) {
			p.start = s.NotBefore
		}
	}
	if p.recheck = p.next; p.next.IsZero() {
		p.recheck = now.Add(recheck)
	}
}

// setRamps computes the ramps before the next start. They start at the highest min and the lowest max that the object
// and the other schedules have at the start of the ramps.
func (p *occurrence) setRamps(all []Schedule, i int, own Bounds) {
	s := &all[i]
	if s.Ramp <= 0 || p.next.IsZero() || p.lastsUntilNext() {
		return
	}
	start, from := p.next.Add(-s.Ramp), own
	for k := range all {
		other := &all[k]
		isTighter := other.MinReplicas > from.MinReplicas || other.MaxReplicas > 0 && other.MaxReplicas < from.MaxReplicas
		if k == i || !isTighter || other.inForce(start).IsZero() {
			continue
		}
		from.MinReplicas = max(from.MinReplicas, other.MinReplicas)
		if other.MaxReplicas > 0 {
			from.MaxReplicas = min(from.MaxReplicas, other.MaxReplicas)
		}
	}
	if s.MinReplicas > from.MinReplicas {
		p.least = ramp{start: start, over: s.Ramp, from: from.MinReplicas, to: s.MinReplicas}
	}
	if s.MaxReplicas > 0 && s.MaxReplicas < from.MaxReplicas {
		p.most = ramp{start: start, over: s.Ramp, from: from.MaxReplicas, to: s.MaxReplicas}
	}
}

// ramps reports whether there is a ramp, and when the ramps start.
func (p *occurrence) ramps() (start time.Time, ok bool) {
	start = p.least.start
	if p.least.over == 0 {
		start = p.most.start
	}
	return start, !start.IsZero()
}

// lastsUntilNext reports whether the schedule is in force until it starts again: then it never ramps up.
func (p *occurrence) lastsUntilNext() bool {
	return p.isInForce && (p.end.IsZero() || !p.end.Before(p.next))
}

func (c *Cache) compute(now time.Time) {
	r := &c.result
	*r = Result{Bounds: c.own, InForce: c.inForce[:0]}
	for i := range c.occurrences {
		p, s := &c.occurrences[i], &c.schedules[i]
		switch start, isRamp := p.ramps(); {
		case p.isInForce && (p.end.IsZero() || now.Before(p.end)):
			r.add(InForce{
				Schedule: s, Since: p.start, Until: p.end, MinReplicas: s.MinReplicas, MaxReplicas: s.MaxReplicas,
			})
			r.changes(p.end, End, s)
			continue
		case isRamp && !now.Before(start):
			least, rise := p.least.at(now)
			most, fall := p.most.at(now)
			r.add(InForce{
				Schedule: s, Since: start, Until: p.next, MinReplicas: least, MaxReplicas: most, IsRamp: true,
			})
			r.changes(p.next, Start, s)
			r.changes(rise, RampStep, s)
			r.changes(fall, RampStep, s)
		case isRamp:
			r.changes(start, RampStart, s)
		default:
			r.changes(p.next, Start, s)
		}
	}
	r.lowerByRamps()
	if r.MinReplicas > r.MaxReplicas {
		r.MaxWins, r.MinReplicas = r.MinBy != nil || r.MaxBy != nil, r.MaxReplicas
	}
	c.inForce, c.until = r.InForce, earlier(c.until, r.Next.At)
}

func (r *Result) add(f InForce) {
	r.InForce = append(r.InForce, f)
	if f.MinReplicas > r.MinReplicas {
		r.MinReplicas, r.MinBy = f.MinReplicas, f.Schedule
	}
	if !f.IsRamp {
		r.lower(&f)
	}
}

// lowerByRamps records the max of each ramp. The schedule of a ramp is not in force yet: it does not lower the min of
// those that are.
func (r *Result) lowerByRamps() {
	for i := range r.InForce {
		if f := &r.InForce[i]; f.IsRamp && f.MaxReplicas > 0 {
			f.MaxReplicas = max(f.MaxReplicas, r.MinReplicas)
			r.lower(f)
		}
	}
}

func (r *Result) lower(f *InForce) {
	if f.MaxReplicas > 0 && f.MaxReplicas < r.MaxReplicas {
		r.MaxReplicas, r.MaxBy = f.MaxReplicas, f.Schedule
	}
}

// changes records when a schedule changes; zero if it does not.
func (r *Result) changes(at time.Time, kind Kind, s *Schedule) {
	if !at.IsZero() && (r.Next.At.IsZero() || at.Before(r.Next.At)) {
		r.Next = Change{At: at, Kind: kind, Schedule: s}
	}
}

// earlier returns the earlier of two times; a zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
