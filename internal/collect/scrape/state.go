package scrape

import (
	"time"
)

// State is the state of a target's scrapes.
type State[T Target] struct {
	Target T
	// Started is when the last scrape began, Succeeded when the last one that
	// succeeded ended; zero if there was none.
	Started, Succeeded time.Time
	// Failures is how many failed since, LastError the last one's error, FailingSince
	// when the first of them ended.
	Failures     int
	LastError    error
	FailingSince time.Time
}

// IsFailing reports whether the last scrape failed.
func (s *State[T]) IsFailing() bool { return s.Failures > 0 }

// record takes in how a scrape ended, and reports whether the target began or ceased
// to fail.
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
