package readings

import (
	"context"
	"slices"
	"time"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// cachedFor returns the HPA's cached responses. It cancels requests from before its metrics or its target's selector
// changed.
func cachedFor(ctx context.Context, d *Decision) *cachedAnswers {
	k, selector := &d.Record.cached, d.Selector
	if k.requests != nil && k.selector == selector && observehorizontal.HaveSameMetrics(k.of, d.Autoscaler) {
		return k
	}
	k.end()
	n := len(d.Policy.Metrics)
	r := &requests{
		key:     d.Autoscaler.Key(),
		arrived: make(chan struct{}, 1), pending: make([]bool, n), came: map[int]answer{},
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	*k = cachedAnswers{
		of: d.Autoscaler, selector: selector, answers: make([]answer, n), unused: make([]bool, n), requests: r,
	}
	return k
}

// release drops the responses if all were requested before a moment and none is pending: no decision uses them, and
// they would keep their pods in memory.
func (k *cachedAnswers) release(before time.Time) {
	if k.requests != nil && k.isOlder(before) {
		k.end()
	}
}

func (k *cachedAnswers) isOlder(than time.Time) bool {
	r := k.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 {
		return false
	}
	for _, a := range r.came {
		if !a.asked.Before(than) {
			return false
		}
	}
	return !slices.ContainsFunc(k.answers, func(a answer) bool { return !a.asked.Before(than) })
}

// take stores the responses that have arrived, and reports which are pending.
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

// collection has the values of one HPA's metrics, as far as they have arrived.
type collection struct {
	// answers, known and pending have an element for each metric. A pending one was requested and has not arrived.
	answers        []answer
	known, pending []bool
	// isPatient is set if the decision waits for all responses.
	isPatient bool
}

func newCollection(metrics int) *collection {
	return &collection{answers: make([]answer, metrics), known: make([]bool, metrics), pending: make([]bool, metrics)}
}

// isComplete reports whether no metric is left to request.
func (q *collection) isComplete() bool { return !slices.Contains(q.known, false) }

// use takes the cached response for a metric. Its latency counts once.
func (q *collection) use(k *cachedAnswers, i int) {
	q.answers[i], q.known[i] = k.answers[i], true
	if !k.unused[i] {
		q.answers[i].took = 0
	}
	k.unused[i] = false
}
