package promquery

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// poll is a request that is made repeatedly. The Source's lock guards it.
type poll struct {
	request     request
	server      *server
	subscribers map[*subscription]struct{}
	// interval is the shortest of the subscribers', timeout the longest.
	interval, timeout time.Duration
	// due is the time of the next request, if the poll is in the schedule.
	due         time.Time
	isScheduled bool
	index       int
	// asked is the time of the last request; zero before the first.
	asked time.Time
	// place is its place in the queues when it is due.
	place fairqueue.Item[*poll]
	// displace ends the request that runs.
	displace func()
	// result is the latest; nil before the first.
	result *result
}

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

// waited is how long the poll has been due, or was before its running request, because others are before it. It is 0
// for a namespace above bytesPerSecond, which gets no more time for that.
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

// outcome is the label of the result in metrics.
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

// Before implements timing.Item.
func (p *poll) Before(other *poll) bool { return p.due.Before(other.due) }

// Place implements timing.Item.
func (p *poll) Place() *int { return &p.index }

// schedule holds the polls that are not due yet, the next one first.
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
