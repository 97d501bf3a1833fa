package promquery

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// countPeriod is the period at which metrics are counted.
const countPeriod = 4 * time.Second

// Run polls until the context ends. It calls sampled, from many goroutines, for each object whose result has changed.
func (s *Source) Run(ctx context.Context, sampled func(observe.Key)) {
	var running sync.WaitGroup
	defer s.close()
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := time.Now()
		s.count(now)
		requests, next := s.start(ctx, now, sampled)
		for _, request := range requests {
			running.Go(request)
		}
		timer.Reset(time.Until(next))
	}
}

// start returns functions that make the requests that begin now, and when to check again.
func (s *Source) start(
	ctx context.Context, now time.Time, sampled func(observe.Key),
) (requests []func(), next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := s.schedule.take(now); p != nil; p = s.schedule.take(now) {
		if p.server.backoffUntil.After(now) {
			p.due = p.server.backoffUntil
			s.schedule.add(p)
			continue
		}
		p.server.queue.Push(&p.place, 0)
	}
	s.queues.update(now)
	for p := s.queues.take(now); p != nil; p = s.queues.take(now) {
		requests = append(requests, s.requestLocked(ctx, p, sampled))
	}
	next = s.counted.Add(countPeriod)
	if s.schedule.Len() > 0 && s.schedule.First().due.Before(next) {
		next = s.schedule.First().due
	}
	if at := s.queues.resumes(now); !at.IsZero() && at.Before(next) {
		next = at
	}
	return requests, next
}

// requestLocked returns a function that makes one request. It may be displaced from now on.
func (s *Source) requestLocked(ctx context.Context, p *poll, sampled func(observe.Key)) func() {
	own, cancel := context.WithCancelCause(ctx)
	p.displace = func() { cancel(errDisplaced) }
	timeout := p.timeout // it may change during the request
	return func() {
		defer cancel(nil)
		asked := time.Now()
		r := p.server.query(own, &p.request, timeout)
		r.asked = asked
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		s.series.Polled(now.Sub(asked), r.outcome())
		for _, key := range s.finish(p, r, now) {
			sampled(key)
		}
		s.wakeUp()
	}
}

// finish stores a result. It returns the objects whose result has changed.
func (s *Source) finish(p *poll, r *result, now time.Time) []observe.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues.done(p, now)
	if p.server.judge(r, now) {
		for _, waiting := range p.server.queue.Drain() {
			waiting.due = p.server.backoffUntil
			s.schedule.add(waiting)
		}
	}
	isOther := p.result == nil || !p.result.isLike(r)
	p.result = r
	if len(p.subscribers) == 0 {
		return nil
	}
	p.due = r.asked.Add(p.interval)
	s.schedule.add(p)
	if !isOther {
		return nil
	}
	keys := make([]observe.Key, 0, len(p.subscribers))
	for subscribed := range p.subscribers {
		keys = append(keys, subscribed.key)
	}
	return keys
}

// count counts the metrics each countPeriod, and forgets the namespaces that no longer have any.
func (s *Source) count(now time.Time) {
	if now.Sub(s.counted) < countPeriod {
		return
	}
	s.counted = now
	var counts polls.Counts
	for subscribed := range s.metrics.All() {
		s.mu.Lock()
		answer := subscribed.answer(now)
		s.mu.Unlock()
		if !answer.IsPending {
			counts.Add(answer.Err)
		}
	}
	s.series.Metrics(counts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues.sweep(now)
}

func (s *Source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series.Metrics(polls.Counts{})
	for _, v := range s.servers {
		v.close()
	}
}
