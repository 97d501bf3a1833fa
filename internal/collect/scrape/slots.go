package scrape

import (
	"slices"
	"time"
)

// slowPerSlot is the number of slow scrapes for each slot. A scrape that turns slow has taken a slot for at least
// SlowAfter, so that a slow scrape has about (1 + slowPerSlot) * SlowAfter before it is cancelled.
const slowPerSlot = 3

// A scrape is cancelled after overdueFactor times the duration of its target's last success at the earliest: a target
// that always takes long is still read.
const overdueFactor = 2

// slots holds the scrapes under way, each list in the order in which they began.
type slots[T Target] struct {
	// maxRunning scrapes have a slot each; after slowAfter a scrape is slow, and its slot is free.
	maxRunning int
	slowAfter  time.Duration

	running, slow []*entry[T]
	// retries counts the scrapes, slow or not, of targets whose last scrape failed.
	retries int
	tenants *tenants[T]
}

func (s *slots[T]) isFull() bool { return len(s.running) >= s.maxRunning }

// mayRetry reports whether one more failing target may be scraped.
func (s *slots[T]) mayRetry() bool { return s.retries < s.maxRetries() }

func (s *slots[T]) maxRetries() int { return max(1, s.maxRunning/4) }

func (s *slots[T]) begin(e *entry[T]) {
	s.running = append(s.running, e)
	if e.state.IsFailing() {
		s.retries++
	}
}

// end removes a scrape that has ended.
func (s *slots[T]) end(now time.Time, e *entry[T], err error) {
	s.running = without(s.running, e)
	s.leaveSlow(e)
	if e.state.IsFailing() {
		s.retries--
	}
	if err != nil {
		return
	}
	e.lasted = now.Sub(e.state.Started)
	e.tenant.succeed(now, e.lasted >= s.slowAfter)
}

// leaveSlow removes a scrape from the slow ones, if it is one of them.
func (s *slots[T]) leaveSlow(e *entry[T]) {
	if at := slices.Index(s.slow, e); at >= 0 {
		s.slow = slices.Delete(s.slow, at, at+1)
		e.tenant.slow--
	}
}

// release frees the slots of scrapes that have become slow. It returns the slow scrapes to cancel, where there are too
// many.
func (s *slots[T]) release(now time.Time) (cancelled []*entry[T]) {
	for len(s.running) > 0 && now.Sub(s.running[0].state.Started) >= s.slowAfter {
		isFull := s.isSlowFull()
		var cancel *entry[T]
		if isFull {
			if cancel, _ = s.toCancel(now); cancel == nil {
				return cancelled
			}
		}
		e := s.running[0]
		s.running = slices.Delete(s.running, 0, 1)
		s.slow = append(s.slow, e)
		e.tenant.slow++
		if isFull {
			s.leaveSlow(cancel)
			cancelled = append(cancelled, cancel)
		}
	}
	return cancelled
}

// untilRelease returns the time until release can free a slot, 0 if only the end of a scrape can.
func (s *slots[T]) untilRelease(now time.Time) time.Duration {
	if len(s.running) == 0 {
		return 0
	}
	wait := max(1, s.running[0].state.Started.Add(s.slowAfter).Sub(now))
	if s.isSlowFull() {
		cancel, until := s.toCancel(now)
		if cancel == nil && until == 0 {
			return 0
		}
		wait = max(wait, until)
	}
	return wait
}

func (s *slots[T]) isSlowFull() bool { return len(s.slow) >= slowPerSlot*s.maxRunning }

// toCancel returns the slow scrape to cancel for another; without one, the time until there is one, 0 if none will be.
// Retries keep their whole timeout, so that a target that needs it is read in the end, and targets whose last scrape
// took long get as long again, unless their tenant takes more slots than others.
// Where most scrapes are slow, of most tenants, the cause is outside the targets, and if scrapes were cancelled, none
// would succeed.
func (s *slots[T]) toCancel(now time.Time) (cancel *entry[T], until time.Duration) {
	all, slow := s.tenants.count(now)
	if all == 0 || 2*slow > all {
		return nil, 0
	}
	for _, e := range s.slow {
		if e.state.IsFailing() {
			continue
		}
		wait := e.state.Started.Add(overdueFactor * e.lasted).Sub(now)
		if wait <= 0 {
			return e, 0
		}
		if until == 0 || wait < until {
			until = wait
		}
	}
	if all > 1 {
		if newest := s.newestOfSlowest(); newest != nil {
			return newest, 0
		}
	}
	return nil, until
}

// newestOfSlowest returns the latest scrape of the tenant with the most slow ones: earlier ones of it are closer to
// success. It may be the scrape that becomes slow now.
func (s *slots[T]) newestOfSlowest() *entry[T] {
	next := s.running[0]
	next.tenant.slow++
	slowest := s.tenants.slowest()
	next.tenant.slow--
	if !next.state.IsFailing() && next.tenant == slowest {
		return next
	}
	for _, e := range slices.Backward(s.slow) {
		if !e.state.IsFailing() && e.tenant == slowest {
			return e
		}
	}
	return nil
}

func without[E comparable](all []E, e E) []E {
	if at := slices.Index(all, e); at >= 0 {
		return slices.Delete(all, at, at+1)
	}
	return all
}
