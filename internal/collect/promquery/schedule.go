package promquery

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// poll is a request that is asked repeatedly. The Source's lock guards it.
type poll struct {
	request     request
	server      *server
	subscribers map[*subscription]struct{}
	// interval is the shortest of the subscribers', timeout the longest.
	interval, timeout time.Duration
	// due is when it is asked next, if it is in the schedule.
	due         time.Time
	isScheduled bool
	index       int
	// asked is when it was asked last; zero before.
	asked time.Time
	// place is where it waits for its turn when it is due.
	place fairqueue.Item[*poll]
	// displace ends the request that runs.
	displace func()
	// result is the last one; nil before the first.
	result *result
}

// updateInterval adapts the poll to its subscribers.
func (p *poll) updateInterval() {
	p.interval, p.timeout = 0, 0
	for subscribed := range p.subscribers {
		if p.interval == 0 || subscribed.spec.Interval < p.interval {
			p.interval = subscribed.spec.Interval
		}
		p.timeout = max(p.timeout, subscribed.spec.Timeout)
	}
	// Specs that come from the API have both.
	const shortest = time.Second
	p.interval, p.timeout = max(p.interval, shortest), max(p.timeout, shortest)
}

// waited is how long it has been due without being asked, because others are before it: at last, if it is under way.
// A namespace that is held back for what its servers send has no longer time.
func (p *poll) waited(now time.Time) time.Duration {
	switch {
	case p.isScheduled || p.server.isLimited:
		return 0
	case p.asked.Before(p.due):
		return min(now.Sub(p.due), longestWait)
	default:
		return min(p.asked.Sub(p.due), longestWait)
	}
}

// outcome is the result as it is counted.
func (r *result) outcome() polls.Result {
	switch {
	case r.err == nil:
		return polls.Success
	case r.isNull:
		return polls.Empty
	default:
		return polls.Failure
	}
}

// answer is the result for an object.
func (r *result) answer(spec *sources.Prometheus) sources.Answer {
	switch {
	case r.err == nil:
		return sources.Answer{Series: r.series, At: r.at, Asked: r.asked}
	case r.isNull && spec.IsNullZero:
		return sources.Answer{Series: zero, At: r.at, Asked: r.asked}
	default:
		return sources.Answer{Asked: r.asked, Err: r.err}
	}
}

// zero must not be changed.
var zero = []float64{0}

// Before is for timing.Queue.
func (p *poll) Before(other *poll) bool { return p.due.Before(other.due) }

// Place is for timing.Queue.
func (p *poll) Place() *int { return &p.index }

// schedule has the polls that wait for their time, the next one first.
type schedule struct{ timing.Queue[*poll] }

func (s *schedule) add(p *poll) {
	p.isScheduled = true
	s.Push(p)
}

func (s *schedule) remove(p *poll) {
	if p.isScheduled {
		p.isScheduled = false
		s.Remove(p)
	}
}

// take removes and returns the next poll if it is due, or returns nil.
func (s *schedule) take(now time.Time) *poll {
	if s.Len() == 0 || s.First().due.After(now) {
		return nil
	}
	p := s.First()
	s.remove(p)
	return p
}
