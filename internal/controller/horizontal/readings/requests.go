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
	// answerWait is how long a decision waits for the answers to its requests, where it
	// has something to go by without them. Answers that come later lead to another one.
	answerWait = time.Second
	// maxRequests is how many metrics of one HPA are asked for at a time.
	maxRequests = 16
)

// errAwaited stands for an answer that is on its way.
var errAwaited = errors.New("request still in progress")

// request fills in answers: those that are still good, and those that come at once. What
// is missing after that is on its way.
func (r *Reader) request(
	ctx context.Context, d *Decision, q *collection, fallback fallbackReason, hasSamples bool,
) error {
	k := cachedFor(ctx, d)
	k.take(q.pending)
	missing, isResourceMissing := r.useGood(d, q, k, fallback)
	if isResourceMissing {
		if fallback == samplesAwaited && r.awaitsSamples(d) {
			return ErrTooEarly
		}
		d.Record.setAsked(d.Start)
	}
	// An answer that comes from now on is this decision's, until it waits no longer.
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

// useGood takes the answers that are still good, and says which metrics are to be asked for, and
// whether one of them is a resource metric.
func (r *Reader) useGood(
	d *Decision, q *collection, k *cachedAnswers, fallback fallbackReason,
) (missing []int, isResourceMissing bool) {
	for i := range q.answers {
		switch {
		case q.known[i]:
		case k.unused[i], !q.pending[i] && r.isGood(d, &k.answers[i], i, fallback):
			q.use(k, i)
		case !q.pending[i]:
			missing = append(missing, i)
			isResourceMissing = isResourceMissing || isResource(d.Policy.Metrics[i].Type)
		}
	}
	return missing, isResourceMissing
}

// isGood reports whether an answer need not be asked for again.
func (r *Reader) isGood(d *Decision, a *answer, i int, fallback fallbackReason) bool {
	age := d.Start.Sub(a.asked)
	switch {
	case d.Trigger == trigger.Periodic, a.asked.IsZero():
		return false
	case !isResource(d.Policy.Metrics[i].Type):
		return age < r.SyncPeriod
	default:
		// Pods that changed want another answer, where kubelets do not give it.
		return age < FallbackPeriod && (fallback != notPermitted || d.Trigger != trigger.Event)
	}
}

// isUsable reports whether an answer may be decided on while the next one is on its way:
// a value for a sync period, and an error until the next answer.
func (r *Reader) isUsable(a *answer) bool {
	return !a.asked.IsZero() && (a.Err != nil || time.Since(a.asked) < r.SyncPeriod)
}

// begin asks for the metrics, a few at a time.
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
				r.came(rs, i, a)
			}
		})
	}
}

// came takes in an answer. Where no decision waits for it, it leads to one: at once if
// it was the last, otherwise a little later, as answers seldom come alone.
func (r *Reader) came(rs *requests, i int, a answer) {
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

// await waits for answers, keeping no worker: for a moment where there is something to
// go by, otherwise for the first one, and a sync period at most.
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

// isWorthWaiting reports whether a decision is better with answers that are on their way.
// It is not where kubelets' samples are there, nor for a metric that took long the last
// time, nor for longer than a moment, unless nothing is known without. A decision
// that is made as upstream's waits for all, as that has them.
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

// setAwaited says whether a decision takes the answers that come.
func (r *requests) setAwaited(isAwaited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isAwaited = isAwaited
}
