package promquery

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// maxPerServer and maxPerNamespace bound how many requests are under way to a server and for the
	// objects of a namespace; maxUnderWay bounds all of them.
	maxPerServer    = 8
	maxPerNamespace = 16
	maxUnderWay     = 64
	// bytesPerSecond bounds what the servers of a namespace send, and with it the CPU that their answers
	// cost. An answer counts as leastBytes at least. What is sent in burst may come at once.
	bytesPerSecond = 2 << 20
	leastBytes     = 1 << 10
	burst          = 4 * time.Second
)

// subscriber is a metric of an object.
type subscriber struct {
	key    observe.Key
	metric int
}

// poll is a request that is asked repeatedly. The Source's lock guards it.
type poll struct {
	request     request
	server      *server
	subscribers map[subscriber]*subscription
	// interval is the shortest of the subscribers', timeout the longest.
	interval, timeout time.Duration
	// due is when it is asked next, if it is in the schedule.
	due         time.Time
	isScheduled bool
	place       int
	// asked is when it was asked last; zero before.
	asked time.Time
	// result is the last one; nil before the first.
	result *result
}

// fit adapts the poll to its subscribers.
func (p *poll) fit() {
	p.interval, p.timeout = 0, 0
	for _, subscribed := range p.subscribers {
		if p.interval == 0 || subscribed.spec.Interval < p.interval {
			p.interval = subscribed.spec.Interval
		}
		p.timeout = max(p.timeout, subscribed.spec.Timeout)
	}
	// Specs that come from the API have both.
	const shortest = time.Second
	p.interval, p.timeout = max(p.interval, shortest), max(p.timeout, shortest)
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
	case r.isNull && spec.IgnoreNullValues:
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
func (p *poll) Place() *int { return &p.place }

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

// queues have the polls that are due and wait until fewer requests are under way. Namespaces take
// turns, so that the slow servers of one do not delay another's.
type queues struct {
	underWay int
	// waiting has the namespaces with polls that wait or are under way, in the order of their turns.
	waiting map[string]*queue
	turns   []*queue
}

// queue has the polls of a namespace, the longest waiting first.
type queue struct {
	namespace string
	polls     []*poll
	underWay  int
	// paid is when the servers might have sent at bytesPerSecond what they have sent.
	paid time.Time
}

// charge counts what a server sent.
func (q *queue) charge(bytes int64, now time.Time) {
	if q.paid.Before(now) {
		q.paid = now
	}
	q.paid = q.paid.Add(time.Duration(max(bytes, leastBytes)) * time.Second / bytesPerSecond)
}

// resumes is when the namespace may ask again.
func (q *queue) resumes() time.Time { return q.paid.Add(-burst) }

func (q *queues) add(p *poll) {
	namespace := p.request.target.Namespace
	own := q.waiting[namespace]
	if own == nil {
		own = &queue{namespace: namespace}
		q.waiting[namespace] = own
		q.turns = append(q.turns, own)
	}
	own.polls = append(own.polls, p)
}

// remove removes a poll that may be waiting.
func (q *queues) remove(p *poll) {
	own := q.waiting[p.request.target.Namespace]
	if own == nil {
		return
	}
	if i := slices.Index(own.polls, p); i >= 0 {
		own.polls = slices.Delete(own.polls, i, i+1)
	}
	q.tidy(own, time.Now())
}

// tidy removes a queue that has nothing.
func (q *queues) tidy(own *queue, now time.Time) {
	if len(own.polls) == 0 && own.underWay == 0 && !own.paid.After(now) {
		delete(q.waiting, own.namespace)
		if i := slices.Index(q.turns, own); i >= 0 {
			q.turns = slices.Delete(q.turns, i, i+1)
		}
	}
}

// sweep removes the queues that have nothing any more.
func (q *queues) sweep(now time.Time) {
	for _, own := range slices.Clone(q.turns) {
		q.tidy(own, now)
	}
}

// resumes is when the first namespace may ask again that may not now; zero if there is none.
func (q *queues) resumes(now time.Time) time.Time {
	var first time.Time
	for _, own := range q.turns {
		at := own.resumes()
		if len(own.polls) > 0 && at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// share is how many requests of one namespace may be under way: as many as half of those that could
// be besides. So a few namespaces with slow servers leave room for others.
func (q *queues) share() int { return min(maxPerNamespace, max(1, (maxUnderWay-q.underWay)/2)) }

// take removes and returns a poll that may be asked now, and counts it as under way; nil if there is
// none. The namespace that it is of has its next turn after all others.
func (q *queues) take(now time.Time) *poll {
	if q.underWay >= maxUnderWay {
		return nil
	}
	for i, own := range q.turns {
		if own.underWay >= q.share() || own.resumes().After(now) {
			continue
		}
		p := own.take()
		if p == nil {
			continue
		}
		q.turns = append(slices.Delete(q.turns, i, i+1), own)
		q.underWay++
		return p
	}
	return nil
}

func (q *queue) take() *poll {
	for i, p := range q.polls {
		if !p.server.isBusy() {
			q.polls = slices.Delete(q.polls, i, i+1)
			q.underWay++
			p.server.underWay++
			return p
		}
	}
	return nil
}

// done counts the poll as no longer under way, and what its server has sent.
func (q *queues) done(p *poll, now time.Time) {
	own := q.waiting[p.request.target.Namespace]
	q.underWay--
	own.underWay--
	p.server.underWay--
	own.charge(p.server.received.Swap(0), now)
	p.server.isLimited = own.resumes().After(now)
	q.tidy(own, now)
}

// withdraw removes the waiting polls of a server from the queue of its namespace.
func (q *queues) withdraw(v *server) []*poll {
	own := q.waiting[v.target.Namespace]
	if own == nil {
		return nil
	}
	var withdrawn []*poll
	own.polls = slices.DeleteFunc(own.polls, func(p *poll) bool {
		if p.server == v {
			withdrawn = append(withdrawn, p)
			return true
		}
		return false
	})
	q.tidy(own, time.Now())
	return withdrawn
}
