package promquery

import (
	"fmt"
	"slices"
	"time"
)

const (
	// maxPerServer and maxPerNamespace bound how many requests are under way to a server and for the
	// objects of a namespace.
	maxPerServer    = 8
	maxPerNamespace = 16
	// maxUnderWay bounds those of all namespaces that are not slow, and maxSlow those of the slow ones. A
	// namespace is slow if a request of it takes longer than slowAfter, until one does not that ends
	// slowFor later. If it asks nothing, it is slow for rememberedFor.
	maxUnderWay   = 64
	maxSlow       = 32
	slowAfter     = time.Second
	slowFor       = time.Minute
	rememberedFor = 10 * time.Minute
	// maxInAll bounds all. There are more than maxUnderWay and maxSlow if many namespaces become slow at a
	// time. Above it, the longest requests of slow namespaces are ended.
	maxInAll = 256
	// bytesPerSecond bounds what the servers of a namespace send, and with it the CPU that their answers
	// cost. An answer counts as leastBytes at least. What is sent in burst may come at once.
	bytesPerSecond = 2 << 20
	leastBytes     = 1 << 10
	burst          = 4 * time.Second
)

// queues have the polls that are due and wait until fewer requests are under way. Namespaces take
// turns, so that the slow servers of one do not delay another's. Those with slow servers have places
// of their own, so that many of them do not delay others either.
type queues struct {
	// waiting has the namespaces with polls that wait or are under way, and those that are slow, in the
	// order of their turns.
	waiting map[string]*queue
	turns   []*queue
}

// queue has the polls of a namespace, the longest waiting first.
type queue struct {
	namespace string
	polls     []*poll
	// underWay are the polls that are under way, in the order in which they began.
	underWay []*poll
	// wasSlow reports that a request of it was slow, at last at slowAt.
	wasSlow bool
	slowAt  time.Time
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

// becomesSlow is when its longest request will be a slow one, which may be past; zero if there is none.
func (q *queue) becomesSlow() time.Time {
	if len(q.underWay) == 0 {
		return time.Time{}
	}
	return q.underWay[0].asked.Add(slowAfter)
}

func (q *queue) isSlow(now time.Time) bool {
	return q.wasSlow || len(q.underWay) > 0 && !q.becomesSlow().After(now)
}

func (q *queues) add(p *poll) {
	namespace := p.request.target.Namespace
	own := q.waiting[namespace]
	if own == nil {
		own = &queue{namespace: namespace}
		q.waiting[namespace] = own
		q.turns = append(q.turns, own)
	}
	p.queue = own
	own.polls = append(own.polls, p)
}

// crowded is the error of queries that wait too long. Its numbers are rounded, so that events are counted together.
func (q *queue) crowded() error {
	waiting := 1
	for 2*waiting <= len(q.polls) {
		waiting *= 2
	}
	return fmt.Errorf("%d queries of the namespace and more wait until others are answered, of which at most %d are "+
		"asked at a time, and %d of a server: it answers too slowly for so many (recording rules are quicker, and a "+
		"longer intervalSeconds asks less often)", waiting, maxPerNamespace, maxPerServer)
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
	if len(own.polls) == 0 && len(own.underWay) == 0 && !own.paid.After(now) &&
		(!own.wasSlow || now.Sub(own.slowAt) >= rememberedFor) {
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

// resumes is when something will change for a poll that waits, although no request ends: when the
// first namespace may ask again that may not now, or becomes slow and leaves its places. Zero if there
// is no such time.
func (q *queues) resumes(now time.Time) time.Time {
	var first time.Time
	isWaiting := false
	next := func(at time.Time) {
		if at.After(now) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, own := range q.turns {
		if len(own.polls) > 0 {
			isWaiting = true
			next(own.resumes())
		}
	}
	if !isWaiting {
		return time.Time{}
	}
	for _, own := range q.turns {
		if !own.isSlow(now) {
			next(own.becomesSlow())
		}
	}
	return first
}

// places are how many requests are under way.
type places struct{ quick, slow int }

func (q *queues) places(now time.Time) places {
	var n places
	for _, own := range q.turns {
		if own.isSlow(now) {
			n.slow += len(own.underWay)
		} else {
			n.quick += len(own.underWay)
		}
	}
	return n
}

// share is how many requests of one namespace may be under way: as many as half of those that could
// be besides, and one at least as long as there is room. So a few namespaces leave room for others.
func (n places) share(isSlow bool) int {
	free := maxUnderWay - n.quick
	if isSlow {
		free = maxSlow - n.slow
	}
	if free <= 0 {
		return 0
	}
	return min(maxPerNamespace, max(1, free/2))
}

// take removes and returns a poll that may be asked now, and counts it as under way; nil if there is
// none. The namespace that it is of has its next turn after all others.
func (q *queues) take(now time.Time) *poll {
	n := q.places(now)
	for i, own := range q.turns {
		if len(own.underWay) >= n.share(own.isSlow(now)) || own.resumes().After(now) {
			continue
		}
		p := own.take(now)
		if p == nil {
			continue
		}
		q.turns = append(slices.Delete(q.turns, i, i+1), own)
		if n.quick+n.slow >= maxInAll {
			q.displace(p, now)
		}
		return p
	}
	return nil
}

// displace ends the longest request of slow namespaces but this one. It counts as one that was not
// answered in time.
func (q *queues) displace(except *poll, now time.Time) {
	var longest *queue
	for _, own := range q.turns {
		if own.isSlow(now) && len(own.underWay) > 0 && own.underWay[0] != except &&
			(longest == nil || own.underWay[0].asked.Before(longest.underWay[0].asked)) {
			longest = own
		}
	}
	if longest == nil {
		return
	}
	longest.underWay[0].displace()
	longest.underWay = slices.Delete(longest.underWay, 0, 1)
	longest.wasSlow, longest.slowAt = true, now
}

func (q *queue) take(now time.Time) *poll {
	for i, p := range q.polls {
		if !p.server.isBusy() {
			q.polls = slices.Delete(q.polls, i, i+1)
			q.underWay = append(q.underWay, p)
			p.asked = now
			p.server.underWay++
			return p
		}
	}
	return nil
}

// done counts the poll as no longer under way, and what its server has sent.
func (q *queues) done(p *poll, now time.Time) {
	own := q.waiting[p.request.target.Namespace]
	if i := slices.Index(own.underWay, p); i >= 0 {
		own.underWay = slices.Delete(own.underWay, i, i+1)
	}
	if now.Sub(p.asked) >= slowAfter {
		own.wasSlow, own.slowAt = true, now
	} else if now.Sub(own.slowAt) >= slowFor {
		own.wasSlow = false
	}
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
