package worker

import (
	"context"
	"errors"
	"time"
)

// firstRetry and lastRetry bound the time between two attempts to make a scaler.
const firstRetry, lastRetry = time.Second, 30 * time.Second

// instance is a scaler that was made. The metric's lock guards it.
type instance struct {
	Built

	// users counts the calls that use it. It is closed when it is dropped and the last of them has ended.
	users     int
	isDropped bool
}

var (
	errOver     = errors.New("the metric was edited or deleted during the request")
	errUnclosed = errors.New("closing KEDA's scaler has not ended; the next scaler is made after its end")
)

// use calls f with the scaler. After a panic the scaler may be in any state: the next call, after a delay, makes
// another one.
func (m *metric) use(ctx context.Context, f func(*instance) error) (*instance, error) {
	i, err := m.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer m.release(i)
	err = m.recovered(func() error { return f(i) })
	if errors.Is(err, errPanic) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failure = err
		m.delayLocked()
		m.dropLocked(i)
	}
	return i, err
}

// acquire returns the scaler, and makes it if there is none. The caller releases it.
func (m *metric) acquire(ctx context.Context) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.isOver:
		return nil, errOver
	case m.current != nil:
		m.current.users++
		return m.current, nil
	case m.unclosed > 0:
		return nil, errUnclosed
	case m.failure != nil && time.Now().Before(m.retryAt):
		return nil, m.failure
	}
	built, err := m.buildUnlocked(ctx)
	if err != nil {
		m.failure = redacted(err, built.Secrets)
		m.delayLocked()
		return nil, m.failure
	}
	m.failure = nil
	i := &instance{Built: built, users: 1}
	switch {
	case m.isOver:
		// It ends with this call.
		i.isDropped = true
		m.releaseLocked(i)
		return nil, errOver
	case m.current != nil:
		// Another call was faster.
		i.isDropped = true
		m.releaseLocked(i)
		m.current.users++
		return m.current, nil
	}
	m.current = i
	return i, nil
}

// buildUnlocked makes a scaler. The lock, which the caller has, is free meanwhile.
func (m *metric) buildUnlocked(ctx context.Context) (built Built, err error) {
	m.mu.Unlock()
	defer m.mu.Lock()
	err = m.recovered(func() error {
		built, err = m.build(ctx, &m.job)
		return err
	})
	return built, err
}

// delayLocked delays the next attempt to make a scaler that replaces another one.
func (m *metric) delayLocked() {
	m.delay = min(max(2*m.delay, firstRetry), lastRetry)
	m.retryAt = time.Now().Add(m.delay)
}

// mayReplace drops a scaler that failed, unless that happened a moment ago, or an earlier one has not closed.
func (m *metric) mayReplace(failed *instance) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.retryAt) || m.unclosed > 0 {
		return false
	}
	m.delayLocked()
	m.dropLocked(failed)
	return true
}

func (m *metric) release(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releaseLocked(i)
}

func (m *metric) releaseLocked(i *instance) {
	if i.users--; i.users == 0 && i.isDropped {
		m.closeLocked(i)
	}
}

// dropLocked takes a scaler out of use. It is closed when the last call that uses it has ended.
func (m *metric) dropLocked(i *instance) {
	if i == nil || i.isDropped {
		return
	}
	i.isDropped = true
	if m.current == i {
		m.current = nil
	}
	if i.users == 0 {
		m.closeLocked(i)
	}
}

// closeLocked closes a scaler, beside the caller: some wait for their server. One that does not end counts as a call
// that does not.
func (m *metric) closeLocked(i *instance) {
	m.limiter.add(m.job.Namespace)
	a := &attempt{began: time.Now(), isClose: true}
	go m.attempt(a, func(ctx context.Context) {
		if err := m.recovered(func() error { return i.Scaler.Close(ctx) }); err != nil {
			m.log.Info("closing the scaler failed", "reason", redacted(err, i.Secrets).Error())
		}
	})
}

// stop closes the scaler for good.
func (m *metric) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isOver = true
	m.dropLocked(m.current)
}
