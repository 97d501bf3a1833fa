package externalscaler

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	// pushGap is the least time between two pushes that the object's owner is notified of. With the
	// polls, that is five decisions in a second.
	pushGap = 250 * time.Millisecond
	// defaultIdle is that of Config.
	defaultIdle = 10 * time.Minute
	// tidyEvery is also how often metrics are counted.
	tidyEvery = 5 * time.Second
	// connectRetry is how often is tried whether there may be one more connection for a metric without one.
	connectRetry = 10 * time.Second
	// idleIntervals is the least of Config.Idle in intervals of a metric.
	idleIntervals = 4
)

// Config is what a Source needs.
type Config struct {
	// Dial connects to a server for objects of a namespace, if they may use it.
	Dial func(ctx context.Context, namespace, host string, port uint16) (net.Conn, error)
	// Lookup reads the Secrets of a tlsConfig; nil if Secrets are not read.
	Lookup clientauth.Lookup
	// Idle is how long a metric is collected without a Look; 0 for 10 minutes. Each poll leads to a
	// call of sampled, and that to a Look: only what an object no longer has is not looked for.
	Idle time.Duration
	// Registerer gets the source's series; nil if nobody reads them.
	Registerer prometheus.Registerer
}

// Source reads the metrics of external scalers. It may be used by many goroutines.
type Source struct {
	config Config
	series *polls.Series

	// mu guards the following, and the answers of subscriptions.
	mu      sync.Mutex
	objects map[observe.Key]*object
	// running is nil while Run does not run.
	running *running
}

// object has metrics of external scalers.
type object struct {
	key     observe.Key
	metrics map[int]*subscription
	// pushed is when the last push was passed on.
	pushed time.Time
}

// running is one Run.
type running struct {
	ctx             context.Context //nolint:containedctx // of the goroutines that Look begins
	pool            *pool
	sampled, pushed func(observe.Key)
	wg              sync.WaitGroup
	// waiting are the metrics without a connection, the longest waiting first. The source's lock guards it.
	waiting []*subscription
}

// New makes a Source that connects to nothing yet.
func New(config Config) (*Source, error) {
	if config.Dial == nil {
		return nil, errors.New("external scalers: Dial is needed")
	}
	if config.Idle <= 0 {
		config.Idle = defaultIdle
	}
	series, err := polls.New(config.Registerer, "ExternalScaler")
	if err != nil {
		return nil, err
	}
	return &Source{config: config, series: series, objects: map[observe.Key]*object{}}, nil
}

// Run asks the scalers of the metrics that Look was called for, until the context ends. After that
// all connections are closed, and nothing is known any more. sampled is called when there is
// another answer for an object; pushed at once when a scaler reports that an object is active.
// Both must return soon.
func (s *Source) Run(ctx context.Context, sampled, pushed func(observe.Key)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &running{
		ctx: ctx, sampled: sampled, pushed: pushed, pool: newPool(&s.config),
	}
	s.begin(r)
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	retries := time.NewTicker(connectRetry)
	defer retries.Stop()
	for ctx.Err() == nil {
		select {
		case now := <-ticker.C:
			s.tidy(now)
		case <-retries.C:
			s.retry(r)
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.running, s.objects = nil, map[observe.Key]*object{}
	s.mu.Unlock()
	s.series.Metrics(polls.Counts{})
	r.wg.Wait()
}

func (s *Source) begin(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = r
	for _, o := range s.objects {
		for _, m := range o.metrics {
			s.start(m)
		}
	}
}

// start needs the lock. While nothing runs, it does nothing.
func (s *Source) start(m *subscription) {
	r := s.running
	if r == nil {
		return
	}
	l, err := r.pool.acquire(targetFor(m.object.key, &m.spec))
	if err != nil {
		m.answer = sources.Answer{Err: err, Asked: time.Now()}
		if errors.Is(err, errTooMany) {
			r.waiting = append(r.waiting, m)
		}
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	m.cancel = cancel
	r.wg.Go(func() { m.run(ctx, r.pool, l) })
}

// retry starts the metrics that wait for a connection, as far as there may be more.
func (s *Source) retry(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := r.waiting
	r.waiting = nil
	for _, m := range waiting {
		if s.isCurrent(m) {
			s.start(m)
		}
	}
}

// stop needs the lock.
func (m *subscription) stop() {
	if m.cancel != nil {
		m.cancel()
	}
}

// Look returns what is known of a metric, and subscribes to it. metric is its index among the
// object's metrics.
func (s *Source) Look(now time.Time, key observe.Key, metric int, spec *sources.ExternalScaler) sources.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	if o == nil {
		o = &object{key: key, metrics: map[int]*subscription{}}
		s.objects[key] = o
	}
	m := o.metrics[metric]
	if m == nil || m.spec != *spec {
		if m != nil {
			m.stop()
		}
		m = newSubscription(s, o, now, spec)
		o.metrics[metric] = m
		s.start(m)
	}
	m.looked = now
	return m.answerAt(now)
}

// Forget ends what Look began for the object's metrics.
func (s *Source) Forget(key observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	if o == nil {
		return
	}
	for _, m := range o.metrics {
		m.stop()
	}
	delete(s.objects, key)
}

// tidy ends what is no longer looked for, and counts the rest.
func (s *Source) tidy(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var counts polls.Counts
	for key, o := range s.objects {
		for i, m := range o.metrics {
			if now.Sub(m.looked) > max(s.config.Idle, idleIntervals*m.spec.Interval) {
				m.stop()
				delete(o.metrics, i)
			} else if !m.answer.IsPending {
				counts.Add(m.answer.Err)
			}
		}
		if len(o.metrics) == 0 {
			delete(s.objects, key)
		}
	}
	s.series.Metrics(counts)
}

// isCurrent reports whether the metric is still that of the object. It needs the lock.
func (s *Source) isCurrent(m *subscription) bool {
	o := s.objects[m.object.key]
	if o != m.object || s.running == nil {
		return false
	}
	for _, other := range o.metrics {
		if other == m {
			return true
		}
	}
	return false
}

// polled counts a poll.
func (s *Source) polled(took time.Duration, answer *sources.Answer) {
	result := polls.Success
	if answer.Err != nil {
		result = polls.Failure
	}
	s.series.Polled(took, result)
}

// store keeps the answer of a poll.
func (s *Source) store(m *subscription, answer sources.Answer) {
	s.mu.Lock()
	r := s.running
	if !s.isCurrent(m) {
		s.mu.Unlock()
		return
	}
	m.answer = answer
	s.mu.Unlock()
	if answer.Err == nil || answer.Activity != metric.ActivityUnknown {
		r.sampled(m.object.key)
	}
}

// push keeps that the scaler reported to be active.
func (s *Source) push(m *subscription) {
	now := time.Now()
	s.mu.Lock()
	r := s.running
	if !s.isCurrent(m) {
		s.mu.Unlock()
		return
	}
	m.held = now.Add(m.hold())
	isDue := now.Sub(m.object.pushed) >= pushGap
	if isDue {
		m.object.pushed = now
	}
	s.mu.Unlock()
	if !isDue {
		return
	}
	r.pushed(m.object.key)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
