package externalscaler

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// targetAge is how long the scaler's own target is cached. KEDA requests it as often as the HPA does.
	targetAge = 15 * time.Second
	// minHold is the shortest time for which a push keeps the metric active.
	minHold = 5 * time.Second
	// minPollGap is the shortest time between two polls when a push brings the next one forward.
	minPollGap = time.Second
	// firstRetry and lastRetry bound the time until a stream is opened again, as in KEDA.
	firstRetry, lastRetry = 2 * time.Second, time.Minute
	// A stream that lasted soundAfter is opened again after firstRetry.
	soundAfter = 10 * time.Second
	// messagesPerSecond and the burst bound the messages that are read of a stream. Further ones wait in the connection.
	messagesPerSecond, messageBurst = 20, 60
)

// subscription is one metric of an object.
type subscription struct {
	source *Source
	key    observe.Key
	spec   sources.ExternalScaler
	ref    *pb.ScaledObjectRef
	// wake brings the next poll forward.
	wake chan struct{}

	// own is the scaler's metric and target, as of ownAt. Only the poll uses them.
	own   target
	ownAt time.Time

	// The lock of the source guards the following.

	// cancel ends the polls; nil while none run.
	cancel context.CancelFunc
	// isOver is true when the object no longer has the metric.
	isOver bool
	// answer is the result of the last poll.
	answer sources.Answer
	// held is the time until which a push keeps the metric active.
	held time.Time
}

func newSubscription(s *Source, key observe.Key, spec *sources.ExternalScaler) *subscription {
	return &subscription{
		source: s, key: key, spec: *spec, wake: make(chan struct{}, 1), answer: sources.Answer{IsPending: true},
		ref: &pb.ScaledObjectRef{Name: key.Name, Namespace: key.Namespace, ScalerMetadata: spec.Metadata.Map()},
	}
}

// answerLocked is called with the source's lock.
func (m *subscription) answerLocked(now time.Time) sources.Answer {
	answer := m.answer
	if now.Before(m.held) {
		answer.Activity = metric.Active
	}
	return answer
}

func (m *subscription) hold() time.Duration { return max(m.spec.Interval, minHold) }

// run polls, and follows the scaler's stream, until ctx ends. It releases the connection.
func (m *subscription) run(ctx context.Context, p *pool, c *connection) {
	defer p.release(c)
	var wg sync.WaitGroup
	if m.spec.IsPushed {
		wg.Go(func() { m.follow(ctx, c) })
	}
	m.poll(ctx, c)
	wg.Wait()
}

func (m *subscription) poll(ctx context.Context, c *connection) {
	for ctx.Err() == nil {
		began := time.Now()
		answer := m.pollOnce(ctx, c, began)
		if ctx.Err() != nil {
			return
		}
		m.source.polled(time.Since(began), &answer)
		m.source.store(m, answer)
		if timing.Pause(ctx, time.Until(began.Add(min(minPollGap, m.spec.Interval)))) != nil {
			return
		}
		timer := time.NewTimer(time.Until(began.Add(m.spec.Interval)))
		select {
		case <-timer.C:
		case <-m.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pollOnce polls the scaler once. Activity and values are independent: an active scaler wakes its target even without a
// value.
func (m *subscription) pollOnce(ctx context.Context, c *connection, began time.Time) sources.Answer {
	ctx, cancel := context.WithTimeout(ctx, m.spec.Timeout)
	defer cancel()
	answer := sources.Answer{Asked: began}
	if answer.Err = c.check(ctx); answer.Err != nil {
		return answer
	}
	var wg sync.WaitGroup
	var activityErr error
	wg.Go(func() { answer.Activity, activityErr = m.requestActivity(ctx, c) })
	series, own, err := m.requestValues(ctx, c)
	wg.Wait()
	if err == nil {
		err = activityErr
	}
	if answer.Err = err; err == nil {
		answer.Series, answer.TargetMilli, answer.At = series, own.milli, time.Now()
	} else if ctx.Err() != nil {
		c.timedOut(began, time.Now())
	}
	return answer
}

func (m *subscription) requestActivity(ctx context.Context, c *connection) (metric.Activity, error) {
	response, err := c.scaler.IsActive(ctx, m.ref)
	switch {
	case err != nil:
		return metric.ActivityUnknown, m.describe("IsActive", err, c.why())
	case response.GetResult():
		return metric.Active, nil
	default:
		return metric.Inactive, nil
	}
}

func (m *subscription) requestValues(ctx context.Context, c *connection) ([]float64, target, error) {
	own, err := m.ownTarget(ctx, c)
	if err != nil {
		return nil, target{}, err
	}
	response, err := c.scaler.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: m.ref, MetricName: own.name})
	if err != nil {
		return nil, target{}, m.describe("GetMetrics", err, c.why())
	}
	series, err := seriesOf(response)
	return series, own, err
}

// ownTarget returns the name of the metric, and its target if the spec has none.
func (m *subscription) ownTarget(ctx context.Context, c *connection) (target, error) {
	if m.spec.MetricName != "" && m.spec.HasTarget {
		return target{name: m.spec.MetricName}, nil
	}
	now := time.Now()
	if !m.ownAt.IsZero() && now.Sub(m.ownAt) < targetAge {
		return m.own, nil
	}
	response, err := c.scaler.GetMetricSpec(ctx, m.ref)
	if err != nil {
		return target{}, m.describe("GetMetricSpec", err, c.why())
	}
	own, err := targetOf(&m.spec, response)
	if err != nil {
		return target{}, err
	}
	m.own, m.ownAt = own, now
	return own, nil
}

// follow opens the scaler's stream, again and again.
func (m *subscription) follow(ctx context.Context, c *connection) {
	retry := firstRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := m.receive(ctx, c)
		switch {
		case status.Code(err) == codes.Unimplemented:
			// The scaler only supports polls. It may be replaced by another server later.
			retry = lastRetry
		case errors.Is(err, io.EOF) || time.Since(began) >= soundAfter:
			retry = firstRetry
		}
		if timing.Pause(ctx, retry) != nil {
			return
		}
		retry = min(2*retry, lastRetry)
	}
}

// receive reads one stream. As in KEDA, only a report of activity has an effect.
func (m *subscription) receive(ctx context.Context, c *connection) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.check(ctx); err != nil {
		return err
	}
	stream, err := c.scaler.StreamIsActive(ctx, m.ref)
	if err != nil {
		return err
	}
	messages := rate.NewLimiter(messagesPerSecond, messageBurst)
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		if response.GetResult() {
			m.source.push(m)
		}
		if err := messages.Wait(ctx); err != nil {
			return err
		}
	}
}
