package horizontal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

const (
	// answerWait is how long a decision waits for the answers to its requests, where it
	// has something to go by without them. Answers that come later lead to another one.
	answerWait = time.Second
	// maxRequests is how many metrics of one object are asked for at a time.
	maxRequests = 16
)

// errAwaited stands for an answer that is on its way.
var errAwaited = errors.New("the answer is on its way")

// cachedAnswers is what was answered to an object's requests, and those that are under way. Both
// serve decisions that come before its next sync period is over.
type cachedAnswers struct {
	// metrics and selector are what was asked for.
	metrics  []autoscalingv2.MetricSpec
	selector string
	// answers are the newest ones, at their metrics' places; asked is zero where there
	// is none. unused are those that no decision has been made on.
	answers  []answer
	unused   []bool
	requests *requests
}

// requests are those of one object. They outlive the decision that makes them: an API
// that is slow keeps no object from being decided on what else is known.
type requests struct {
	object types.NamespacedName
	ctx    context.Context //nolint:containedctx // it ends when the object is another or goes
	cancel context.CancelFunc
	// arrived holds a token when an answer came that a decision waits for.
	arrived chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// pending are the metrics that are asked for, left how many; isAwaited says that a
	// decision waits.
	pending   []bool
	left      int
	isAwaited bool
	// came holds the answers that have come since the last look.
	came map[int]answer
}

// keptOf is what is kept for the object as it is now. What was asked for before its
// metrics or its target's selector changed is cancelled.
func (c *Controller) keptOf(ctx context.Context, p *pass) *cachedAnswers {
	k, selector := &p.track.cached, p.target.Scale.Status.Selector
	if k.requests != nil && k.selector == selector && equality.Semantic.DeepEqual(k.metrics, p.hpa.Spec.Metrics) {
		return k
	}
	k.end()
	n := len(p.policy.Metrics)
	r := &requests{object: nameOf(p.hpa), arrived: make(chan struct{}, 1), pending: make([]bool, n), came: map[int]answer{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	*k = cachedAnswers{metrics: p.hpa.Spec.Metrics, selector: selector, answers: make([]answer, n), unused: make([]bool, n), requests: r}
	return k
}

// end cancels what is under way.
func (k *cachedAnswers) end() {
	if k.requests != nil {
		k.requests.cancel()
	}
	*k = cachedAnswers{}
}

// take takes in what has come, and says what is on its way.
func (k *cachedAnswers) take(pending []bool) {
	r := k.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, a := range r.came {
		k.answers[i], k.unused[i] = a, true
	}
	clear(r.came)
	copy(pending, r.pending)
}

// request fills in answers: those that are still good, and those that come at once. What
// is missing after that is on its way.
func (c *Controller) request(ctx context.Context, p *pass, q *collection, lacking fallbackReason) error {
	k := c.keptOf(ctx, p)
	k.take(q.pending)
	var missing []int
	asksResource := false
	for i := range q.answers {
		switch {
		case q.known[i]:
		case k.unused[i], !q.pending[i] && c.isGood(p, &k.answers[i], i, lacking):
			q.use(k, i)
		case !q.pending[i]:
			missing = append(missing, i)
			asksResource = asksResource || isResource(p.policy.Metrics[i].Type)
		}
	}
	if asksResource {
		if lacking == samplesAwaited && c.awaitsSamples(p) {
			return errTooEarly
		}
		c.askedForResources(p)
	}
	// An answer that comes from now on is this decision's, until it waits no longer.
	k.requests.await(true)
	c.begin(p, k.requests, missing)
	c.await(ctx, p, q, k)
	k.requests.await(false)
	k.take(q.pending)
	for i := range q.answers {
		if !q.known[i] && (k.unused[i] || c.isUsable(&k.answers[i])) {
			q.use(k, i)
		}
		if !q.known[i] {
			q.answers[i].Err = errAwaited
		}
	}
	return ctx.Err()
}

// use takes the kept answer to a metric. How long it took is told once.
func (q *collection) use(k *cachedAnswers, i int) {
	q.answers[i], q.known[i] = k.answers[i], true
	if !k.unused[i] {
		q.answers[i].took = 0
	}
	k.unused[i] = false
}

// isGood reports whether an answer need not be asked for again.
func (c *Controller) isGood(p *pass, a *answer, i int, lacking fallbackReason) bool {
	age := p.start.Sub(a.asked)
	switch {
	case p.asks, a.asked.IsZero():
		return false
	case !isResource(p.policy.Metrics[i].Type):
		return age < c.config.SyncPeriod
	default:
		// Pods that changed want another answer, where kubelets do not give it.
		return age < standInPeriod && (lacking != notPermitted || p.observation.Trigger != trigger.Event)
	}
}

// isUsable reports whether an answer may be decided on while the next one is on its way:
// a value for a sync period, and an error until the next answer.
func (c *Controller) isUsable(a *answer) bool {
	return !a.asked.IsZero() && (a.Err != nil || time.Since(a.asked) < c.config.SyncPeriod)
}

// begin asks for the metrics, a few at a time.
func (c *Controller) begin(p *pass, r *requests, metrics []int) {
	if len(metrics) == 0 {
		return
	}
	r.mu.Lock()
	for _, i := range metrics {
		r.pending[i] = true
	}
	r.left += len(metrics)
	r.mu.Unlock()
	policy := p.policy
	questions := &query.Questions{Source: c.config.Metrics, HPA: p.hpa, Policy: &policy, Selector: p.target.Scale.Status.Selector}
	queue := make(chan int, len(metrics))
	for _, i := range metrics {
		queue <- i
	}
	close(queue)
	for range min(len(metrics), maxRequests) {
		c.requesting.Go(func() {
			for i := range queue {
				began := time.Now()
				a := answer{}
				a.Response, a.asked = questions.Ask(r.ctx, i)
				a.took = time.Since(began)
				c.came(r, i, a)
			}
		})
	}
}

// came takes in an answer. Where no decision waits for it, it leads to one: at once if
// it was the last, otherwise a little later, as answers seldom come alone.
func (c *Controller) came(r *requests, i int, a answer) {
	r.mu.Lock()
	r.pending[i] = false
	r.left--
	isAnswer := !errors.Is(a.Err, metricsapi.ErrQueueFull)
	if isAnswer {
		r.came[i] = a
	}
	isAwaited, left := r.isAwaited, r.left
	r.mu.Unlock()
	if isAwaited {
		select {
		case r.arrived <- struct{}{}:
		default:
		}
		return
	}
	if !isAnswer || r.ctx.Err() != nil {
		return
	}
	due := time.Now()
	if left > 0 {
		due = due.Add(trigger.SampleDelay)
	}
	c.queue.AddEarly(r.object, due, true)
}

// await waits for answers, keeping no worker: for a moment where there is something to
// go by, otherwise for the first one, and a sync period at most.
func (c *Controller) await(ctx context.Context, p *pass, q *collection, k *cachedAnswers) {
	r, started := k.requests, time.Now()
	longest := started.Add(c.config.SyncPeriod)
	if !c.isWorthWaiting(p, q, k, 0) {
		return
	}
	c.workers.Yield(func() {
		wait := time.NewTimer(answerWait)
		defer wait.Stop()
		for ctx.Err() == nil && time.Now().Before(longest) && c.isWorthWaiting(p, q, k, time.Since(started)) {
			select {
			case <-r.arrived:
			case <-wait.C:
				wait.Reset(time.Until(longest))
			case <-ctx.Done():
			}
		}
	})
}

// isWorthWaiting reports whether a decision is better with answers that are on their way.
// It is not where kubelets' samples are there, nor for a metric that took long the last
// time, nor for longer than a moment, unless nothing is known without. Shadow mode waits
// for all, as the other controller has.
func (c *Controller) isWorthWaiting(p *pass, q *collection, k *cachedAnswers, waited time.Duration) bool {
	k.take(q.pending)
	isAny, isMissing := false, false
	for i := range q.answers {
		isThere := q.known[i] || k.unused[i]
		isAny = isAny || isThere || c.isUsable(&k.answers[i])
		isMissing = isMissing || q.pending[i] && !isThere && (c.config.Shadow || k.answers[i].took < answerWait)
	}
	switch {
	case c.config.Shadow:
		return isMissing
	case !isAny:
		return slices.Contains(q.pending, true)
	default:
		return isMissing && waited < answerWait && (p.seen == nil || !hasResource(&p.policy))
	}
}

// await says whether a decision takes the answers that come.
func (r *requests) await(isAwaited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isAwaited = isAwaited
}
