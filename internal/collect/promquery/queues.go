package promquery

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

const (
	// maxPerServer and maxPerNamespace bound the requests that run to a server and for the objects of a namespace.
	maxPerServer    = 8
	maxPerNamespace = 16
	// maxQuick bounds the requests of all namespaces that are not slow, and maxSlow those of the slow ones. A request that
	// takes longer than slowAfter makes its namespace slow, until a quicker one ends slowFor later or more. Without
	// requests, it stays slow for rememberedFor.
	maxQuick      = 64
	maxSlow       = 32
	slowAfter     = time.Second
	slowFor       = time.Minute
	rememberedFor = 10 * time.Minute
	// maxInAll bounds all requests. There are more than maxQuick and maxSlow if many namespaces become slow at the same
	// time. Above it, the longest requests of slow namespaces are ended.
	maxInAll = 256
	// bytesPerSecond bounds what the servers of a namespace send, and with it the CPU that their responses cost. A
	// response counts as leastBytes at least. The bytes of burst may come at once.
	bytesPerSecond = 2 << 20
	leastBytes     = 1 << 10
	burst          = 4 * time.Second
)

type queue = fairqueue.Queue[*poll]

// queues holds the polls that are due and wait until fewer requests run. Namespaces take turns, and in each its
// servers, so that the slow servers of one do not delay another's. Those with slow servers have slots of their own, so
// that many of them do not delay others either.
type queues struct {
	// all has quick and slow below it, these the namespaces, and these the servers.
	all, quick, slow *queue
	namespaces       map[string]*namespace
}

// namespace has the requests for the objects of one namespace.
type namespace struct {
	queue *queue
	// servers counts the namespace's servers.
	servers int
	// running holds the running polls without the displaced ones, in the order in which they began.
	running []*poll
	// wasSlow reports that a request of it was slow, at last at slowAt.
	wasSlow bool
	slowAt  time.Time
	// paid is the time at which the bytes sent so far are within bytesPerSecond.
	paid time.Time
}

func newQueues() queues {
	all := fairqueue.New[*poll](nil, math.MaxInt)
	q := queues{all, fairqueue.New(all, maxQuick), fairqueue.New(all, maxSlow), map[string]*namespace{}}
	q.quick.KeepsRoom, q.slow.KeepsRoom = true, true
	return q
}

// namespace returns the one of that name; it makes a missing one.
func (q *queues) namespace(name string) *namespace {
	n := q.namespaces[name]
	if n == nil {
		n = &namespace{queue: fairqueue.New(q.quick, maxPerNamespace)}
		q.namespaces[name] = n
	}
	return n
}

// charge counts the bytes that a server sent.
func (n *namespace) charge(bytes int64, now time.Time) {
	if n.paid.Before(now) {
		n.paid = now
	}
	n.paid = n.paid.Add(time.Duration(max(bytes, leastBytes)) * time.Second / bytesPerSecond)
}

// resumes is when the namespace may make requests again.
func (n *namespace) resumes() time.Time { return n.paid.Add(-burst) }

// becomesSlow is when the longest request makes the namespace slow, which may be in the past; zero without a request.
func (n *namespace) becomesSlow() time.Time {
	if len(n.running) == 0 {
		return time.Time{}
	}
	return n.running[0].asked.Add(slowAfter)
}

func (n *namespace) isSlow(now time.Time) bool {
	return n.wasSlow || len(n.running) > 0 && !n.becomesSlow().After(now)
}

// crowded is the error of queries that wait too long. Its numbers are rounded, so that events are counted together.
func (n *namespace) crowded() error {
	waiting := 1
	for 2*waiting <= n.queue.Waiting() {
		waiting *= 2
	}
	return fmt.Errorf("at least %d queries of the namespace wait for others: at most %d run at a time, and %d to a "+
		"server, which responds too slowly for so many (recording rules are quicker, and a longer intervalSeconds polls "+
		"less often)", waiting, maxPerNamespace, maxPerServer)
}

// sweep forgets the namespaces that have no servers, no requests and no bytes to pay for, and are no longer slow.
func (q *queues) sweep(now time.Time) {
	maps.DeleteFunc(q.namespaces, func(_ string, n *namespace) bool {
		return n.servers == 0 && n.queue.IsIdle() && !n.paid.After(now) &&
			(!n.wasSlow || now.Sub(n.slowAt) >= rememberedFor)
	})
}

// update sets the number of slots of each namespace.
func (q *queues) update(now time.Time) {
	for _, n := range q.namespaces {
		above := q.quick
		if n.isSlow(now) {
			above = q.slow
		}
		n.queue.MoveTo(above)
		n.queue.Limit = maxPerNamespace
		if n.resumes().After(now) {
			n.queue.Limit = 0
		}
	}
}

// resumes is when a waiting poll may start although no request ends: when the first namespace may make requests again,
// or becomes slow and leaves its slots. Zero if there is no such time.
func (q *queues) resumes(now time.Time) time.Time {
	var first time.Time
	next := func(at time.Time) {
		if at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if q.all.Waiting() == 0 {
		return first
	}
	for _, n := range q.namespaces {
		if n.queue.Waiting() > 0 {
			next(n.resumes())
		}
		if !n.isSlow(now) {
			next(n.becomesSlow())
		}
	}
	return first
}

// take removes and returns a poll that may start now, and counts it as running; nil if there is none.
func (q *queues) take(now time.Time) *poll {
	p, ok := q.all.Next()
	if !ok {
		return nil
	}
	n := p.server.namespace
	n.running = append(n.running, p)
	p.asked = now
	if q.all.Running() > maxInAll {
		q.displace(p, now)
	}
	return p
}

// displace ends the longest request of the slow namespaces, except this one. It counts as one without a response in
// time.
func (q *queues) displace(except *poll, now time.Time) {
	var longest *namespace
	for _, n := range q.namespaces {
		if n.isSlow(now) && len(n.running) > 0 && n.running[0] != except &&
			(longest == nil || n.running[0].asked.Before(longest.running[0].asked)) {
			longest = n
		}
	}
	if longest == nil {
		return
	}
	longest.running[0].displace()
	longest.running = slices.Delete(longest.running, 0, 1)
	longest.wasSlow, longest.slowAt = true, now
}

// done counts the poll as no longer running, and charges what its server has sent.
func (q *queues) done(p *poll, now time.Time) {
	n := p.server.namespace
	if i := slices.Index(n.running, p); i >= 0 {
		n.running = slices.Delete(n.running, i, i+1)
	}
	if now.Sub(p.asked) >= slowAfter {
		n.wasSlow, n.slowAt = true, now
	} else if now.Sub(n.slowAt) >= slowFor {
		n.wasSlow = false
	}
	p.server.queue.Done()
	n.charge(p.server.received.Swap(0), now)
	p.server.isLimited = n.resumes().After(now)
}
