package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

const (
	// callTimeout bounds a call of a scaler. A call that ignores its context is abandoned after abandonAfter.
	callTimeout  = 30 * time.Second
	abandonAfter = time.Minute
	// limitTimeout is how long a call waits for others of its namespace. It is less than the timeout of requests.
	limitTimeout = 5 * time.Second
	// reuseFor is how long the result of a call is used after its end: a poll requests activity and values at the same
	// time.
	reuseFor = 500 * time.Millisecond
	// hangAfter is how long a call runs before a process in which nothing else runs is replaced for it.
	hangAfter = 5 * time.Minute
	// firstPause and lastPause bound the time without calls after one was abandoned.
	firstPause, lastPause = 2 * time.Minute, 8 * time.Minute
)

// reading has the values of one of a scaler's metrics.
type reading struct {
	values   []float64
	isActive bool
}

// call is one call of a scaler. Its results may be read once done is closed.
type call struct {
	attempt

	done    chan struct{}
	ended   time.Time
	reading reading
	specs   []autoscalingv2.MetricSpec
	err     error
}

// attempt is a call of a scaler, or the closing of one. The metric's lock guards it.
type attempt struct {
	began time.Time
	// isClose is true for the closing of a scaler.
	isClose     bool
	isAbandoned bool
	hasEnded    bool
}

// result waits for the call under way, or begins one. It waits no longer than the caller.
func (m *metric) result(ctx context.Context, name string, f func(context.Context, *call) error) (*call, error) {
	began := time.Now()
	c, err := m.latestCall(name, f)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.done:
		return c, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no response within %s", time.Since(began).Round(time.Millisecond))
	}
}

// latestCall returns the call under way, or one that ended a moment ago, or begins one.
func (m *metric) latestCall(name string, f func(context.Context, *call) error) (*call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.used = now
	if err := m.pausedLocked(now); err != nil {
		return nil, err
	}
	for other, c := range m.calls {
		if c.hasEnded && now.Sub(c.ended) >= reuseFor {
			delete(m.calls, other)
		}
	}
	if c := m.calls[name]; c != nil {
		return c, nil
	}
	c := &call{done: make(chan struct{})}
	m.calls[name] = c
	go m.run(c, f)
	return c, nil
}

// pausedLocked returns an error if the metric may have no calls. It has times and no durations: the status of the
// object would change at each poll.
func (m *metric) pausedLocked(now time.Time) error {
	switch {
	case m.abandoned > 0:
		return fmt.Errorf("a call of KEDA's scaler of %s has not ended; the next one begins after its end",
			clock(m.abandonedSince))
	case now.Before(m.pausedUntil):
		return fmt.Errorf("a call of KEDA's scaler did not end within %s; the next one begins at %s",
			abandonAfter, clock(m.pausedUntil))
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// run makes the call, once the namespace has no more calls than it may.
func (m *metric) run(c *call, f func(context.Context, *call) error) {
	defer close(c.done)
	if c.err = m.begin(c); c.err != nil {
		return
	}
	m.attempt(&c.attempt, func(ctx context.Context) {
		c.err = f(ctx, c)
		c.ended = time.Now()
	})
}

// begin waits until the call may begin.
func (m *metric) begin(c *call) error {
	ctx, cancel := context.WithTimeout(context.Background(), limitTimeout)
	defer cancel()
	err := m.limiter.acquire(ctx, m.job.Namespace)
	m.mu.Lock()
	defer m.mu.Unlock()
	c.began = time.Now()
	if err == nil {
		// Another call may have been abandoned meanwhile.
		if err = m.pausedLocked(c.began); err != nil {
			m.limiter.release(m.job.Namespace, false)
		}
	}
	if err != nil {
		c.hasEnded, c.ended = true, c.began
	}
	return err
}

// attempt runs f, and abandons it if it does not end: until it ends after all, it counts for its namespace, and the
// metric has no other call, or no other scaler. The limiter has counted it.
func (m *metric) attempt(a *attempt, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	timer := time.AfterFunc(abandonAfter, func() { m.abandon(a) })
	defer timer.Stop()
	f(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	a.hasEnded = true
	switch {
	case a.isAbandoned && a.isClose:
		m.unclosed--
	case a.isAbandoned:
		m.abandoned--
	}
	m.limiter.release(m.job.Namespace, a.isAbandoned)
}

// abandon gives an attempt up. A call is given up with its scaler, and pauses the metric.
func (m *metric) abandon(a *attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.hasEnded {
		return
	}
	a.isAbandoned = true
	m.limiter.abandon(m.job.Namespace)
	if a.isClose {
		m.unclosed++
		m.log.Info("closing the scaler does not end; the metric gets no other scaler before it ends", "began", a.began)
		return
	}
	if m.abandoned++; m.abandoned == 1 {
		m.abandonedSince = a.began
	}
	m.dropLocked(m.current)
	m.calls = map[string]*call{}
	m.pause = min(max(2*m.pause, firstPause), lastPause)
	m.pausedUntil = time.Now().Add(m.pause)
	m.log.Info("a call of the scaler does not end; the metric has no other call before it ends", "began", a.began,
		"pause", m.pause.String())
}

// isHanging reports whether the metric cannot be read because a call, or the closing of a scaler, does not end.
func (m *metric) isHanging(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.abandoned > 0 && now.Sub(m.abandonedSince) > hangAfter || m.unclosed > 0 && m.current == nil
}

var errPanic = errors.New("KEDA's scaler panicked; the log of plimsoll-scalers says where")

// recovered returns the error of f; errPanic if it panics.
func (m *metric) recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			m.log.Error(fmt.Errorf("panic: %v", r), "the scaler panicked", "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return f()
}
