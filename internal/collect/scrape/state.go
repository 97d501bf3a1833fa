package scrape

import (
	"time"
)

// State is the state of a target's scrapes.
type State[T Target] struct {
	Target T
	// Started is the start of the last scrape, Succeeded the end of the last success; zero if there was none.
	Started, Succeeded time.Time
	// Failures counts the failures since then, LastError is the last one's error, FailingSince the end of the first.
	Failures     int
	LastError    error
	FailingSince time.Time
}

// IsFailing reports whether the last scrape failed.
func (s *State[T]) IsFailing() bool { return s.Failures > 0 }

// record records the end of a scrape, and reports whether the target began or ceased to fail.
func (s *State[T]) record(now time.Time, err error) (isChanged bool) {
	was := s.IsFailing()
	if err == nil {
		s.Succeeded, s.Failures, s.LastError, s.FailingSince = now, 0, nil, time.Time{}
		return was
	}
	if !was {
		s.FailingSince = now
	}
	s.Failures++
	s.LastError = err
	return !was
}
