package scrape

import (
	"slices"
	"time"
)

// slowPerSlot is how many slow scrapes there may be for each slot. A slot is taken for at
// least SlowAfter by one that turns slow, so that a slow scrape has about
// (1 + slowPerSlot) * SlowAfter before it is cancelled.
const slowPerSlot = 3

// overdueFactor is how many times as long as its last successful scrape one takes at
// least before it is cancelled: a target that always takes long is read all the same.
const overdueFactor = 2

// slots are the scrapes under way, each list in the order in which they began.
type slots[T Target] struct {
	// maxRunning scrapes have a slot each; after slowAfter they are slow, and their slot
	// is free.
	maxRunning int
	slowAfter  time.Duration

	running, slow []*entry[T]
	// retries are those, slow or not, of targets whose last scrape failed.
	retries int
	// slowPart is which part of the last scrapes that succeeded took longer than slowAfter; hasSucceeded says that
	// there was one. How long they took says less: one scrape of twenty can make the average long.
	slowPart     float64
	hasSucceeded bool
}

// remembered is how many scrapes slowPart is an average of, more than end together because they began together.
const remembered = 256

// isFull tells that no scrape may begin.
func (s *slots[T]) isFull() bool { return len(s.running) >= s.maxRunning }

// mayRetry tells whether one more target that failed may be scraped.
func (s *slots[T]) mayRetry() bool { return s.retries < max(1, s.maxRunning/4) }

func (s *slots[T]) begin(e *entry[T]) {
	s.running = append(s.running, e)
	if e.state.IsFailing() {
		s.retries++
	}
}

// end takes out a scrape that has ended.
func (s *slots[T]) end(now time.Time, e *entry[T], err error) {
	s.running, s.slow = without(s.running, e), without(s.slow, e)
	if e.state.IsFailing() {
		s.retries--
	}
	if err != nil {
		return
	}
	e.lasted = now.Sub(e.state.Started)
	isSlow := 0.0
	if e.lasted >= s.slowAfter {
		isSlow = 1
	}
	if !s.hasSucceeded {
		s.hasSucceeded, s.slowPart = true, isSlow
	}
	s.slowPart += (isSlow - s.slowPart) / remembered
}

// release frees the slots of scrapes that have become slow. Where there are too many of
// these, it returns those that have been under way for longest, to be cancelled.
func (s *slots[T]) release(now time.Time) (cancelled []*entry[T]) {
	for len(s.running) > 0 && now.Sub(s.running[0].state.Started) >= s.slowAfter {
		if s.isSlowFull() {
			oldest, _ := s.toCancel(now)
			if oldest == nil {
				return cancelled
			}
			s.slow = without(s.slow, oldest)
			cancelled = append(cancelled, oldest)
		}
		s.slow = append(s.slow, s.running[0])
		s.running = slices.Delete(s.running, 0, 1)
	}
	return cancelled
}

// untilRelease is when release will free a slot, 0 if only the end of a scrape can.
func (s *slots[T]) untilRelease(now time.Time) time.Duration {
	if len(s.running) == 0 {
		return 0
	}
	wait := max(1, s.running[0].state.Started.Add(s.slowAfter).Sub(now))
	if s.isSlowFull() {
		oldest, until := s.toCancel(now)
		if oldest == nil && until == 0 {
			return 0
		}
		wait = max(wait, until)
	}
	return wait
}

func (s *slots[T]) isSlowFull() bool { return len(s.slow) >= slowPerSlot*s.maxRunning }

// toCancel is the slow scrape that gives way to another; without one it is how long until
// there is one, 0 if none does. Retries have their whole timeout, so that a target that
// needs it is read at last, and those that took long the last time have as long again.
// Where most scrapes are slow the reason is not in the targets, and cancelling them would
// let none succeed.
func (s *slots[T]) toCancel(now time.Time) (oldest *entry[T], until time.Duration) {
	if !s.hasSucceeded || s.slowPart >= 0.5 {
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
	return nil, until
}

func without[E comparable](all []E, e E) []E {
	if at := slices.Index(all, e); at >= 0 {
		return slices.Delete(all, at, at+1)
	}
	return all
}
