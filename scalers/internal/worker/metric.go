package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scalers"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

const (
	// longest bounds a call of a scaler. A call that ignores its context is abandoned after patience more.
	longest  = 30 * time.Second
	patience = 30 * time.Second
	// shared is how long a reading counts after its end: one poll asks for activity and values at the same time.
	shared = 500 * time.Millisecond
	// firstRetry and lastRetry bound the time between two attempts to make a scaler.
	firstRetry, lastRetry = time.Second, 30 * time.Second
	// firstRest and lastRest bound the time without calls after one was abandoned.
	firstRest, lastRest = 2 * time.Minute, 8 * time.Minute
)

// Built is a scaler, with the texts that no error may show.
type Built struct {
	Scaler  scalers.Scaler
	Secrets []string
}

// Build makes the scaler of a job.
type Build func(context.Context, *job.Job) (Built, error)

// reading is what a scaler says of one of its metrics.
type reading struct {
	values   []float64
	isActive bool
}

// instance is a scaler that was made. The metric's lock guards it.
type instance struct {
	Built

	// readers counts the calls that use it. It is closed when it is replaced and the last of them has ended.
	readers    int
	isReplaced bool
}

// metric is the metric of a job, whose scaler is made at the first call.
type metric struct {
	job   job.Job
	text  string
	build Build
	log   logr.Logger
	// abandon is called with 1 when a call does not end, and with -1 when such a call ends after all.
	abandon func(int64)

	// mu guards the following.
	mu sync.Mutex
	// current is the scaler; nil if there is none.
	current *instance
	// calls has the latest call for each name of a metric of the scaler; the specs have an empty name.
	calls map[string]*call
	used  time.Time
	// isOver is true once the metric was edited, or is unused. No scaler is made any more.
	isOver bool
	// failure is why the scaler was not made. The next attempt, and the next replacement of a scaler that fails, is at
	// retryAt, after delay.
	failure error
	retryAt time.Time
	delay   time.Duration
	// There are no calls before restUntil, after rest.
	restUntil time.Time
	rest      time.Duration
}

// call is one call of a scaler. Its results may be read once done is closed.
type call struct {
	done    chan struct{}
	began   time.Time
	ended   time.Time
	reading reading
	specs   []autoscalingv2.MetricSpec
	err     error
	// isAbandoned is guarded by the metric's lock.
	isAbandoned bool
}

func newMetric(j *job.Job, text string, config *Config, abandon func(int64)) *metric {
	return &metric{
		job: *j, text: text, build: config.Build, abandon: abandon, calls: map[string]*call{}, used: time.Now(),
		log: config.Log.WithValues("namespace", j.Namespace, "object", j.Object, "metric", j.Metric, "type", j.Scaler.Type),
	}
}

// read returns the values of one of the scaler's metrics, and whether it is active.
func (m *metric) read(ctx context.Context, name string) (reading, error) {
	c, err := m.ask(ctx, name, func(ctx context.Context, c *call) error {
		var err error
		c.reading, err = m.readOnce(ctx, name)
		return err
	})
	if err != nil {
		return reading{}, err
	}
	return c.reading, nil
}

var errNoMetric = errors.New("KEDA's scaler has no metric")

// specs returns the scaler's metrics with their targets.
func (m *metric) specs(ctx context.Context) ([]autoscalingv2.MetricSpec, error) {
	c, err := m.ask(ctx, "", func(ctx context.Context, c *call) error {
		i, err := m.acquire(ctx)
		if err != nil {
			return err
		}
		defer m.release(i)
		for _, spec := range i.Scaler.GetMetricSpecForScaling(ctx) {
			if spec.External != nil {
				c.specs = append(c.specs, spec)
			}
		}
		if len(c.specs) == 0 {
			return errNoMetric
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.specs, nil
}

// ask waits for the call under way, or begins one. It waits no longer than the caller.
func (m *metric) ask(ctx context.Context, name string, run func(context.Context, *call) error) (*call, error) {
	c, err := m.latest(name, run)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.done:
		return c, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no response within %s", time.Since(c.began).Round(time.Millisecond))
	}
}

func (m *metric) latest(name string, run func(context.Context, *call) error) (*call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.used = now
	if now.Before(m.restUntil) {
		return nil, fmt.Errorf("a call of KEDA's scaler did not end; the next one is in %s",
			m.restUntil.Sub(now).Round(time.Second))
	}
	if c := m.calls[name]; c != nil {
		select {
		case <-c.done:
			if now.Sub(c.ended) < shared {
				return c, nil
			}
		default:
			return c, nil
		}
	}
	c := &call{done: make(chan struct{}), began: now}
	m.calls[name] = c
	go m.run(c, run)
	return c, nil
}

// run ends the call, also if the scaler panics.
func (m *metric) run(c *call, run func(context.Context, *call) error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	timer := time.AfterFunc(longest+patience, func() { m.giveUp(c) })
	defer func() {
		if r := recover(); r != nil {
			m.log.Error(fmt.Errorf("panic: %v", r), "the scaler panicked", "stack", string(debug.Stack()))
			c.err = errors.New("KEDA's scaler panicked; the log of plimsoll-scalers has the place")
		}
		timer.Stop()
		m.mu.Lock()
		defer m.mu.Unlock()
		c.ended = time.Now()
		close(c.done)
		if c.isAbandoned {
			m.abandon(-1)
		}
	}()
	c.err = run(ctx, c)
}

// giveUp abandons a call that does not end, with its scaler, and lets the metric rest.
func (m *metric) giveUp(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-c.done:
		return
	default:
	}
	c.isAbandoned = true
	m.abandon(1)
	m.replaceLocked(m.current)
	m.calls = map[string]*call{}
	m.rest = min(max(2*m.rest, firstRest), lastRest)
	m.restUntil = time.Now().Add(m.rest)
	m.log.Info("a call of the scaler does not end; the metric rests", "since", c.began, "rest", m.rest.String())
}

// readOnce reads the metric. As in KEDA, a scaler that fails is made anew, once: a Secret or an address may have
// changed.
func (m *metric) readOnce(ctx context.Context, name string) (reading, error) {
	r, failed, err := m.readWith(ctx, name)
	switch {
	case err == nil:
		m.mu.Lock()
		m.delay, m.retryAt, m.rest = 0, time.Time{}, 0
		m.mu.Unlock()
		return r, nil
	case failed == nil || ctx.Err() != nil || !m.mayReplace(failed):
		return reading{}, err
	}
	r, _, err = m.readWith(ctx, name)
	return r, err
}

// readWith reads the metric with the scaler, which it returns if it failed.
func (m *metric) readWith(ctx context.Context, name string) (r reading, failed *instance, err error) {
	i, err := m.acquire(ctx)
	if err != nil {
		return reading{}, nil, err
	}
	defer m.release(i)
	values, isActive, err := i.Scaler.GetMetricsAndActivity(ctx, name)
	if err != nil {
		return reading{}, i, redacted(err, i.Secrets)
	}
	r.isActive = isActive
	for n := range values {
		r.values = append(r.values, values[n].Value.AsApproximateFloat64())
	}
	return r, nil, nil
}

// mayReplace replaces a scaler that failed, unless that happened a moment ago.
func (m *metric) mayReplace(failed *instance) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.retryAt) {
		return false
	}
	m.pauseLocked()
	if m.current == failed {
		m.replaceLocked(failed)
	}
	return true
}

// pauseLocked delays the next attempt to make a scaler that replaces another one.
func (m *metric) pauseLocked() {
	m.delay = min(max(2*m.delay, firstRetry), lastRetry)
	m.retryAt = time.Now().Add(m.delay)
}

var errOver = errors.New("the metric was edited during the request")

// acquire returns the scaler, and makes it if there is none. The caller releases it.
func (m *metric) acquire(ctx context.Context) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.isOver:
		return nil, errOver
	case m.current != nil:
		m.current.readers++
		return m.current, nil
	case m.failure != nil && time.Now().Before(m.retryAt):
		return nil, m.failure
	}
	built, err := m.buildUnlocked(ctx)
	if err != nil {
		m.failure = redacted(err, built.Secrets)
		m.pauseLocked()
		return nil, m.failure
	}
	m.failure = nil
	i := &instance{Built: built, readers: 1}
	switch {
	case m.isOver:
		// It ends with this call.
		i.isReplaced = true
		m.releaseLocked(i)
		return nil, errOver
	case m.current != nil:
		// Another call was faster.
		i.isReplaced = true
		m.releaseLocked(i)
		m.current.readers++
		return m.current, nil
	}
	m.current = i
	return i, nil
}

// buildUnlocked makes a scaler. The lock, which the caller has, is free meanwhile.
func (m *metric) buildUnlocked(ctx context.Context) (Built, error) {
	m.mu.Unlock()
	defer m.mu.Lock()
	return m.build(ctx, &m.job)
}

func (m *metric) release(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releaseLocked(i)
}

func (m *metric) releaseLocked(i *instance) {
	if i.readers--; i.readers == 0 && i.isReplaced {
		go m.end(i)
	}
}

// replaceLocked drops a scaler. It is closed when nobody uses it any more.
func (m *metric) replaceLocked(i *instance) {
	if i == nil || i.isReplaced {
		return
	}
	i.isReplaced = true
	if m.current == i {
		m.current = nil
	}
	if i.readers == 0 {
		go m.end(i)
	}
}

// stop closes the scaler for good.
func (m *metric) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isOver = true
	m.replaceLocked(m.current)
}

// end closes a scaler. Some wait for their server.
func (m *metric) end(i *instance) {
	defer func() {
		if r := recover(); r != nil {
			m.log.Error(fmt.Errorf("panic: %v", r), "closing the scaler panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := i.Scaler.Close(ctx); err != nil {
		m.log.Info("closing the scaler failed", "reason", redacted(err, i.Secrets).Error())
	}
}

func (m *metric) lastUsed() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
