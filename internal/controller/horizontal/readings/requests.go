package readings

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

const (
	// answerWait is the time that a decision waits for the responses to its requests if it can be made without them.
	// Responses that arrive later trigger another decision.
	answerWait = time.Second
	// maxRequests is the number of concurrent requests for one HPA.
	maxRequests = 16
)

// errAwaited is the error of a metric whose request is in progress.
var errAwaited = errors.New("request still in progress")

// request sets the responses that are recent enough, and those that arrive in time. The requests for the rest are in
// progress when it returns.
func (r *Reader) request(
	ctx context.Context, d *Decision, q *collection, fallback fallbackReason, hasSamples bool,
) error {
	k := cachedFor(ctx, d)
	k.take(q.pending)
	missing, isResourceMissing := r.useFresh(d, q, k, fallback)
	if isResourceMissing {
		if fallback == samplesAwaited && r.awaitsSamples(d) {
			return ErrTooEarly
		}
		d.Record.setAsked(d.Start)
	}
	// This decision uses the responses that arrive from now on, until it stops waiting.
	k.requests.setAwaited(true)
	r.begin(d, k.requests, missing)
	q.isPatient = d.AsUpstream
	r.await(ctx, q, k, hasSamples)
	k.requests.setAwaited(false)
	k.take(q.pending)
	for i := range q.answers {
		if !q.known[i] && (k.unused[i] || r.isUsable(&k.answers[i])) {
			q.use(k, i)
		}
		if !q.known[i] {
			q.answers[i].Err = errAwaited
		}
	}
	return ctx.Err()
}

// useFresh uses the responses that are recent enough. It returns the metrics to request, and whether one of them is a
// resource metric.
func (r *Reader) useFresh(
	d *Decision, q *collection, k *cachedAnswers, fallback fallbackReason,
) (missing []int, isResourceMissing bool) {
	for i := range q.answers {
		switch {
		case q.known[i]:
		case k.unused[i], !q.pending[i] && r.isFresh(d, &k.answers[i], i, fallback):
			q.use(k, i)
		case !q.pending[i]:
			missing = append(missing, i)
			isResourceMissing = isResourceMissing || isResource(d.Policy.Metrics[i].Type)
		}
	}
	return missing, isResourceMissing
}

// isFresh reports whether a metric need not be requested again.
func (r *Reader) isFresh(d *Decision, a *answer, i int, fallback fallbackReason) bool {
	age := d.Start.Sub(a.asked)
	switch {
	case d.Trigger == trigger.Periodic, a.asked.IsZero():
		return false
	case !isResource(d.Policy.Metrics[i].Type):
		return age < r.SyncPeriod
	default:
		// After a change of pods the response is outdated, unless kubelets replace it.
		return age < FallbackPeriod && (fallback != notPermitted || d.Trigger != trigger.Event)
	}
}

// isUsable reports whether a decision may use a response while the next one is in progress: a value for a sync period,
// and an error until the next response.
func (r *Reader) isUsable(a *answer) bool {
	return !a.asked.IsZero() && (a.Err != nil || time.Since(a.asked) < r.SyncPeriod)
}

// begin requests the metrics, a few at a time.
func (r *Reader) begin(d *Decision, rs *requests, metrics []int) {
	if len(metrics) == 0 {
		return
	}
	rs.mu.Lock()
	for _, i := range metrics {
		rs.pending[i] = true
	}
	rs.left += len(metrics)
	rs.mu.Unlock()
	policy := *d.Policy
	questions := &query.Questions{
		Source: r.Source, Autoscaler: d.Autoscaler, Policy: &policy, Selector: d.Selector, Log: r.Log,
	}
	queue := make(chan int, len(metrics))
	for _, i := range metrics {
		queue <- i
	}
	close(queue)
	for range min(len(metrics), maxRequests) {
		r.requests.Go(func() {
			for i := range queue {
				began := time.Now()
				a := answer{}
				a.Response, a.asked = questions.Ask(rs.ctx, i)
				a.took = time.Since(began)
				r.receive(rs, i, a)
			}
		})
	}
}

// receive stores a response. If no decision waits for it, it triggers one: at once after the last response, otherwise a
// little later, because several often arrive together.
func (r *Reader) receive(rs *requests, i int, a answer) {
	rs.mu.Lock()
	rs.pending[i] = false
	rs.left--
	isAnswer := !errors.Is(a.Err, metricsapi.ErrQueueFull)
	if isAnswer {
		rs.came[i] = a
	}
	isAwaited, left := rs.isAwaited, rs.left
	rs.mu.Unlock()
	if isAwaited {
		select {
		case rs.arrived <- struct{}{}:
		default:
		}
		return
	}
	if !isAnswer || rs.ctx.Err() != nil {
		return
	}
	due := time.Now()
	if left > 0 {
		due = due.Add(trigger.SampleDelay)
	}
	r.Queue.AddEarly(rs.key, due, true)
}

// await waits for responses without occupying a worker: for answerWait if the decision has other values, otherwise for
// the first response, and a sync period at most.
func (r *Reader) await(ctx context.Context, q *collection, k *cachedAnswers, hasSamples bool) {
	started := time.Now()
	longest := started.Add(r.SyncPeriod)
	if !r.isWorthWaiting(q, k, 0, hasSamples) {
		return
	}
	r.Workers.Yield(func() {
		wait := time.NewTimer(answerWait)
		defer wait.Stop()
		for ctx.Err() == nil && time.Now().Before(longest) && r.isWorthWaiting(q, k, time.Since(started), hasSamples) {
			select {
			case <-k.requests.arrived:
			case <-wait.C:
				wait.Reset(time.Until(longest))
			case <-ctx.Done():
			}
		}
	})
}

// isWorthWaiting reports whether the decision should wait for pending responses. It should not if kubelets' samples are
// there, nor for a metric that last took long, nor for longer than answerWait, unless it has no value at all. A
// decision made as upstream waits for all, as upstream has them all.
func (r *Reader) isWorthWaiting(q *collection, k *cachedAnswers, waited time.Duration, hasSamples bool) bool {
	k.take(q.pending)
	isAny, isMissing := false, false
	for i := range q.answers {
		isThere := q.known[i] || k.unused[i]
		isAny = isAny || isThere || r.isUsable(&k.answers[i])
		isMissing = isMissing || q.pending[i] && !isThere && (q.isPatient || k.answers[i].took < answerWait)
	}
	switch {
	case q.isPatient:
		return isMissing
	case !isAny:
		return slices.Contains(q.pending, true)
	default:
		return isMissing && waited < answerWait && !hasSamples
	}
}

func (r *requests) setAwaited(isAwaited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isAwaited = isAwaited
}
