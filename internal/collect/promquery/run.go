package promquery

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// countPeriod is how often metrics are counted.
const countPeriod = 4 * time.Second

// Run asks until the context ends. It calls sampled, from many goroutines, for each object that has
// an answer other than the last.
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
		started, next := s.start(ctx, now)
		for _, p := range started {
			running.Go(func() { s.ask(ctx, p, sampled) })
		}
		timer.Reset(time.Until(next))
	}
}

// started is a poll that is to be asked, with what may change meanwhile.
type started struct {
	poll    *poll
	timeout time.Duration
	ctx     context.Context //nolint:containedctx // of the one request
	cancel  context.CancelCauseFunc
}

// start are the polls that are to be asked now, and when to look again.
func (s *Source) start(ctx context.Context, now time.Time) (begun []started, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := s.schedule.take(now); p != nil; p = s.schedule.take(now) {
		if p.server.avoidUntil.After(now) {
			p.due = p.server.avoidUntil
			s.schedule.add(p)
			continue
		}
		s.queues.add(p)
	}
	for p := s.queues.take(now); p != nil; p = s.queues.take(now) {
		own, cancel := context.WithCancelCause(ctx)
		p.displace = func() { cancel(errDisplaced) }
		begun = append(begun, started{p, p.timeout, own, cancel})
	}
	next = s.counted.Add(countPeriod)
	if s.schedule.Len() > 0 && s.schedule.First().due.Before(next) {
		next = s.schedule.First().due
	}
	if at := s.queues.resumes(now); !at.IsZero() && at.Before(next) {
		next = at
	}
	return begun, next
}

// ask asks once.
func (s *Source) ask(ctx context.Context, p started, sampled func(observe.Key)) {
	asked := time.Now()
	defer p.cancel(nil)
	r := p.poll.server.ask(p.ctx, &p.poll.request, p.timeout)
	r.asked = asked
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	s.series.Polled(now.Sub(asked), r.outcome())
	for _, key := range s.finish(p.poll, r, now) {
		sampled(key)
	}
	s.wakeUp()
}

// finish takes a result. It returns the objects for which it is another than the last.
func (s *Source) finish(p *poll, r *result, now time.Time) []observe.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues.done(p, now)
	if p.server.judge(r, now) {
		for _, waiting := range s.queues.withdraw(p.server) {
			waiting.due = p.server.avoidUntil
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

// count counts the metrics, if it is time, and forgets the namespaces that have none any more.
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

// close closes idle connections. Nothing is asked any more.
func (s *Source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series.Metrics(polls.Counts{})
	for _, v := range s.servers {
		v.close()
	}
}
