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
	// longest bounds a call of a scaler. A call that ignores its context is given up then.
	longest = 30 * time.Second
	// patience is how much longer a call may run before its scaler is replaced.
	patience = 30 * time.Second
	// shared is how long a reading counts after its end: one poll asks for activity and values at the same time.
	shared = 500 * time.Millisecond
	// firstRetry and lastRetry bound the time between two attempts to make a scaler.
	firstRetry, lastRetry = time.Second, 30 * time.Second
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

// metric is the metric of a job, whose scaler is made at the first call.
type metric struct {
	job     job.Job
	text    string
	build   Build
	log     logr.Logger
	abandon func()

	// mu guards the following.
	mu    sync.Mutex
	built Built
	// calls has the latest call for each name of a metric of the scaler; the specs have an empty name.
	calls map[string]*call
	used  time.Time
	// failure is why the scaler was not made; the next attempt is at retryAt, after delay more than before.
	failure error
	retryAt time.Time
	delay   time.Duration
}

// call is one call of a scaler. Its results may be read once done is closed.
type call struct {
	done    chan struct{}
	began   time.Time
	ended   time.Time
	reading reading
	specs   []autoscalingv2.MetricSpec
	err     error
}

func newMetric(j *job.Job, text string, config *Config, abandon func()) *metric {
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

// specs returns the scaler's metrics with their targets.
func (m *metric) specs(ctx context.Context) ([]autoscalingv2.MetricSpec, error) {
	c, err := m.ask(ctx, "", func(ctx context.Context, c *call) error {
		scaler, err := m.scaler(ctx)
		if err != nil {
			return err
		}
		c.specs = scaler.GetMetricSpecForScaling(ctx)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.specs, nil
}

// ask waits for the call under way, or begins one. It waits no longer than the caller.
func (m *metric) ask(ctx context.Context, name string, run func(context.Context, *call) error) (*call, error) {
	c := m.latest(name, run)
	select {
	case <-c.done:
		return c, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no response within %s", time.Since(c.began).Round(time.Millisecond))
	}
}

func (m *metric) latest(name string, run func(context.Context, *call) error) *call {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.used = now
	if c := m.calls[name]; c != nil {
		select {
		case <-c.done:
			if now.Sub(c.ended) < shared {
				return c
			}
		default:
			if now.Sub(c.began) < longest+patience {
				return c
			}
			m.replaceLocked(c)
		}
	}
	c := &call{done: make(chan struct{}), began: now}
	m.calls[name] = c
	go m.run(c, run)
	return c
}

// replaceLocked gives up a call that does not end, with its scaler.
func (m *metric) replaceLocked(c *call) {
	m.log.Info("a call of the scaler does not end; another scaler is made", "since", c.began)
	m.built = Built{}
	m.calls = map[string]*call{}
	m.abandon()
}

// run ends the call, also if the scaler panics.
func (m *metric) run(c *call, run func(context.Context, *call) error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			m.log.Error(fmt.Errorf("panic: %v", r), "the scaler panicked", "stack", string(debug.Stack()))
			c.err = errors.New("KEDA's scaler panicked; the log of plimsoll-scalers has the place")
		}
		c.ended = time.Now()
		close(c.done)
	}()
	c.err = run(ctx, c)
}

// readOnce reads the metric. As in KEDA, a scaler that fails is made anew, once: a Secret or an address may have
// changed.
func (m *metric) readOnce(ctx context.Context, name string) (reading, error) {
	scaler, err := m.scaler(ctx)
	if err != nil {
		return reading{}, err
	}
	values, isActive, err := scaler.GetMetricsAndActivity(ctx, name)
	if err != nil && ctx.Err() == nil {
		m.close(ctx, scaler)
		if scaler, err = m.scaler(ctx); err != nil {
			return reading{}, err
		}
		values, isActive, err = scaler.GetMetricsAndActivity(ctx, name)
	}
	if err != nil {
		return reading{}, m.redact(err)
	}
	r := reading{isActive: isActive}
	for i := range values {
		r.values = append(r.values, values[i].Value.AsApproximateFloat64())
	}
	return r, nil
}

// scaler returns the scaler, and makes it if there is none.
func (m *metric) scaler(ctx context.Context) (scalers.Scaler, error) {
	m.mu.Lock()
	if m.built.Scaler != nil {
		defer m.mu.Unlock()
		return m.built.Scaler, nil
	}
	if time.Now().Before(m.retryAt) {
		defer m.mu.Unlock()
		return nil, m.failure
	}
	m.mu.Unlock()
	built, err := m.build(ctx, &m.job)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.failure = redacted(err, built.Secrets)
		m.delay = min(max(2*m.delay, firstRetry), lastRetry)
		m.retryAt = time.Now().Add(m.delay)
		return nil, m.failure
	}
	if m.built.Scaler != nil {
		// Another call was faster.
		go m.end(built.Scaler)
		return m.built.Scaler, nil
	}
	m.built, m.failure, m.delay, m.retryAt = built, nil, 0, time.Time{}
	return built.Scaler, nil
}

// close drops the scaler, unless another one has replaced it.
func (m *metric) close(_ context.Context, scaler scalers.Scaler) {
	m.mu.Lock()
	isCurrent := m.built.Scaler == scaler
	if isCurrent {
		m.built.Scaler = nil
	}
	m.mu.Unlock()
	if isCurrent {
		go m.end(scaler)
	}
}

// stop closes the scaler for good.
func (m *metric) stop() {
	m.mu.Lock()
	scaler := m.built.Scaler
	m.built = Built{}
	m.mu.Unlock()
	if scaler != nil {
		go m.end(scaler)
	}
}

// end closes a scaler. Some wait for their server.
func (m *metric) end(scaler scalers.Scaler) {
	defer func() {
		if r := recover(); r != nil {
			m.log.Error(fmt.Errorf("panic: %v", r), "closing the scaler panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := scaler.Close(ctx); err != nil {
		m.log.Info("closing the scaler failed", "reason", m.redact(err).Error())
	}
}

func (m *metric) lastUsed() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

func (m *metric) redact(err error) error {
	m.mu.Lock()
	secrets := m.built.Secrets
	m.mu.Unlock()
	return redacted(err, secrets)
}
