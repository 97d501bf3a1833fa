package externalscaler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/polls"
	"github.com/plimsoll-dev/plimsoll/internal/collect/subscriptions"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	// pushGap is the shortest time between two calls of pushed for an object. With the polls, that is five decisions in a
	// second.
	pushGap = 250 * time.Millisecond
	// countPeriod is the period at which metrics are counted.
	countPeriod = 5 * time.Second
	// connectRetry is the period of retries for metrics without a connection.
	connectRetry = 10 * time.Second
)

// Config configures a Source.
type Config struct {
	// Dial connects to a server for objects of a namespace, if they may use it.
	Dial func(ctx context.Context, namespace, host string, port uint16) (net.Conn, error)
	// Lookup reads the Secrets of a tlsConfig; nil if Secrets are not read.
	Lookup clientauth.Lookup
	// Scalers is the server of metrics of type Scaler.
	Scalers Scalers
	// Registerer registers the source's metrics; nil for none.
	Registerer prometheus.Registerer
}

// Scalers is plimsoll-scalers.
type Scalers struct {
	// Address is a host and a port; empty if there is none.
	Address string
	// CABundle has the authorities of its certificate, in PEM. Without any the connection is not encrypted.
	CABundle string
}

// Source reads the metrics of external scalers. It may be used by many goroutines.
type Source struct {
	config  Config
	series  *polls.Series
	metrics *subscriptions.Table[sources.ExternalScaler, *subscription]

	// mu guards the following, and the answers of subscriptions. The table calls Begin and End, which lock it.
	mu sync.Mutex
	// running is nil while Run does not run.
	running *running
	// pushed is the time of the last call of pushed for an object.
	pushed map[observe.Key]time.Time
}

// running is the state of one Run.
type running struct {
	// poll starts polling a metric, until the function that it returns is called, or Run ends.
	poll            func(*subscription, *connection) context.CancelFunc
	pool            *pool
	sampled, pushed func(observe.Key)
	// waiting holds the metrics without a connection, in order. The source's lock guards it.
	waiting []*subscription
}

// New makes a Source. It connects to nothing before Run.
func New(config Config) (*Source, error) {
	if config.Dial == nil {
		return nil, errors.New("external scalers: Dial is needed")
	}
	series, err := polls.New(config.Registerer, "ExternalScaler")
	if err != nil {
		return nil, err
	}
	s := &Source{config: config, series: series, pushed: map[observe.Key]time.Time{}}
	s.metrics = subscriptions.New(subscriptions.Config[sources.ExternalScaler, *subscription]{
		Of:    func(spec *sources.Spec) *sources.ExternalScaler { return spec.ExternalScaler },
		Begin: s.subscribe, End: s.unsubscribe,
	})
	return s, nil
}

// Run polls the scalers of the metrics that are set, until the context ends. Then it closes all connections, and drops
// the results. sampled is called when an object's result has changed; pushed at once when a scaler reports that an
// object is active. Both must return soon.
func (s *Source) Run(ctx context.Context, sampled, pushed func(observe.Key)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &running{sampled: sampled, pushed: pushed, pool: newPool(&s.config)}
	var asking sync.WaitGroup
	r.poll = func(m *subscription, c *connection) context.CancelFunc {
		own, cancel := context.WithCancel(ctx)
		asking.Go(func() { m.run(own, r.pool, c) })
		return cancel
	}
	s.begin(r)
	ticker := time.NewTicker(countPeriod)
	defer ticker.Stop()
	retries := time.NewTicker(connectRetry)
	defer retries.Stop()
	for ctx.Err() == nil {
		select {
		case now := <-ticker.C:
			s.count(now)
		case <-retries.C:
			s.retry(r)
		case <-ctx.Done():
		}
	}
	s.end()
	s.series.Metrics(polls.Counts{})
	asking.Wait()
}

func (s *Source) begin(r *running) {
	s.mu.Lock()
	s.running = r
	s.mu.Unlock()
	for m := range s.metrics.All() {
		s.mu.Lock()
		s.startLocked(m)
		s.mu.Unlock()
	}
}

// end makes all metrics pending again.
func (s *Source) end() {
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	for m := range s.metrics.All() {
		s.mu.Lock()
		m.answer, m.held, m.cancel = sources.Answer{IsPending: true}, time.Time{}, nil
		s.mu.Unlock()
	}
}

// startLocked starts a metric. It does nothing without Run, and for a metric that has started or ended.
func (s *Source) startLocked(m *subscription) {
	r := s.running
	if r == nil || m.cancel != nil || m.isOver {
		return
	}
	c, err := r.acquire(m)
	if err != nil {
		m.answer = sources.Answer{Err: err, Asked: time.Now()}
		if errors.Is(err, errTooMany) {
			r.waiting = append(r.waiting, m)
		}
		return
	}
	m.cancel = r.poll(m, c)
}

// acquire returns the metric's connection.
func (r *running) acquire(m *subscription) (*connection, error) {
	target, err := r.pool.config.targetFor(m.key, &m.spec)
	if err != nil {
		return nil, err
	}
	c, err := r.pool.acquire(target)
	switch {
	case !errors.Is(err, errTooMany):
		return c, err
	case m.spec.FromPlimsollScalers:
		return nil, fmt.Errorf("plimsoll-scalers: %w", err)
	}
	return nil, fmt.Errorf("scalerAddress: %w; metrics with the same scalerAddress, transport and tlsConfig share some",
		err)
}

// retry starts the metrics that wait for a connection, as far as there may be more.
func (s *Source) retry(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := r.waiting
	r.waiting = nil
	for _, m := range waiting {
		s.startLocked(m)
	}
}

// Set makes the source poll these metrics of the object, and no others of it.
func (s *Source) Set(key observe.Key, specs []sources.Spec) { s.metrics.Set(key, specs) }

// Latest returns the latest result for a metric of the object. A metric that was not set is pending.
func (s *Source) Latest(now time.Time, key observe.Key, spec *sources.ExternalScaler) sources.Answer {
	m, ok := s.metrics.Get(key, spec)
	if !ok {
		return sources.Answer{IsPending: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.answerLocked(now)
}

func (s *Source) subscribe(key observe.Key, spec *sources.ExternalScaler) *subscription {
	m := newSubscription(s, key, spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startLocked(m)
	return m
}

func (s *Source) unsubscribe(m *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.isOver = true
	if m.cancel != nil {
		m.cancel()
	}
}

func (s *Source) count(now time.Time) {
	var counts polls.Counts
	for m := range s.metrics.All() {
		s.mu.Lock()
		if !m.answer.IsPending {
			counts.Add(m.answer.Err)
		}
		s.mu.Unlock()
	}
	s.series.Metrics(counts)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.pushed, func(_ observe.Key, at time.Time) bool { return now.Sub(at) >= pushGap })
}

// isCurrentLocked reports whether results of the metric count.
func (s *Source) isCurrentLocked(m *subscription) bool { return !m.isOver && s.running != nil }

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
	if !s.isCurrentLocked(m) {
		s.mu.Unlock()
		return
	}
	hasFailed := answer.Err != nil && m.answer.Err == nil
	m.answer = answer
	s.mu.Unlock()
	if answer.Err == nil || answer.Activity != metric.ActivityUnknown || hasFailed {
		r.sampled(m.key)
	}
}

// push keeps that the scaler reported to be active.
func (s *Source) push(m *subscription) {
	now := time.Now()
	s.mu.Lock()
	r := s.running
	if !s.isCurrentLocked(m) {
		s.mu.Unlock()
		return
	}
	m.held = now.Add(m.hold())
	isDue := now.Sub(s.pushed[m.key]) >= pushGap
	if isDue {
		s.pushed[m.key] = now
	}
	s.mu.Unlock()
	if !isDue {
		return
	}
	r.pushed(m.key)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
