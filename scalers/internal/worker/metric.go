package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scalers"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// Built is a scaler, with the texts that no error may show.
type Built struct {
	Scaler  scalers.Scaler
	Secrets []string
}

// Build makes the scaler of a metric.
type Build func(context.Context, *job.Job) (Built, error)

// metric is a metric with its scaler, which is made at the first call.
type metric struct {
	job     job.Job
	text    string
	build   Build
	limiter *limiter
	log     logr.Logger

	// mu guards the following.
	mu sync.Mutex
	// current is the scaler; nil if there is none.
	current *instance
	// calls has the latest call for each name of a metric of the scaler; the specs have an empty name.
	calls map[string]*call
	used  time.Time
	// isOver is true once the metric was edited or deleted, or is unused. No scaler is made any more.
	isOver bool
	// failure is why the scaler was not made. The next attempt, and the next replacement of a scaler that fails, is at
	// retryAt, after delay.
	failure error
	retryAt time.Time
	delay   time.Duration
	// abandoned counts the abandoned calls that have not ended. The first of them began at abandonedSince.
	abandoned      int
	abandonedSince time.Time
	// unclosed counts the scalers whose closing was abandoned and has not ended.
	unclosed int
	// There are no calls before pausedUntil, after a pause.
	pausedUntil time.Time
	pause       time.Duration
}

func newMetric(j *job.Job, text string, config *Config, limiter *limiter) *metric {
	return &metric{
		job: *j, text: text, build: config.Build, limiter: limiter, calls: map[string]*call{}, used: time.Now(),
		log: config.Log.WithValues("namespace", j.Namespace, "object", j.Object, "metric", j.Metric, "type", j.Scaler.Type),
	}
}

// read returns the values of one of the scaler's metrics, and whether it is active.
func (m *metric) read(ctx context.Context, name string) (reading, error) {
	c, err := m.result(ctx, name, func(ctx context.Context, c *call) error {
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
	c, err := m.result(ctx, "", func(ctx context.Context, c *call) error {
		_, err := m.use(ctx, func(i *instance) error {
			for _, spec := range i.Scaler.GetMetricSpecForScaling(ctx) {
				if spec.External != nil {
					c.specs = append(c.specs, spec)
				}
			}
			return nil
		})
		if err == nil && len(c.specs) == 0 {
			err = errNoMetric
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.specs, nil
}

// readOnce reads the metric. As in KEDA, a scaler that fails is made anew, once: a Secret or an address may have
// changed.
func (m *metric) readOnce(ctx context.Context, name string) (reading, error) {
	r, used, err := m.readWith(ctx, name)
	switch {
	case err == nil:
		m.mu.Lock()
		m.delay, m.retryAt, m.pause = 0, time.Time{}, 0
		m.mu.Unlock()
		return r, nil
	case used == nil || errors.Is(err, errPanic) || ctx.Err() != nil || !m.mayReplace(used):
		return reading{}, err
	}
	r, _, err = m.readWith(ctx, name)
	return r, err
}

// readWith reads the metric with the scaler, which it returns if there is one.
func (m *metric) readWith(ctx context.Context, name string) (r reading, used *instance, err error) {
	used, err = m.use(ctx, func(i *instance) error {
		values, isActive, err := i.Scaler.GetMetricsAndActivity(ctx, name)
		if err != nil {
			return redacted(err, i.Secrets)
		}
		r.isActive = isActive
		for n := range values {
			r.values = append(r.values, values[n].Value.AsApproximateFloat64())
		}
		return nil
	})
	return r, used, err
}

func (m *metric) lastUsed() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
