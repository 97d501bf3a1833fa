package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// State is how a node's scrapes go.
type State struct {
	Target kubelet.Target
	// Started is when the last scrape began, Succeeded when the last one that
	// succeeded ended; zero if there was none.
	Started, Succeeded time.Time
	// Failures is how many failed since, LastError the last one's error, FailingSince
	// when the first of them ended.
	Failures     int
	LastError    error
	FailingSince time.Time
}

// IsFailing tells that the last scrape failed.
func (s *State) IsFailing() bool { return s.Failures > 0 }

// settle takes in how a scrape ended, and tells whether the node began or ceased
// to fail.
func (s *State) settle(now time.Time, err error) (isChanged bool) {
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
