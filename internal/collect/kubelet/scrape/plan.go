package scrape

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// starvingPeriods is how many periods late a node must be to go before urgent
// ones.
const starvingPeriods = 10

// entry is a node.
type entry struct {
	state State
	// phase is the node's own moment in each period.
	phase time.Duration
	// due is when the node may be scraped; place is its index in the queue that it is
	// in, which is none while it is scraped.
	due   time.Time
	queue *queue
	place int

	// isUrgent nodes are in the urgent queue, or go there when their scrape
	// succeeds.
	isUrgent bool
	// cost is what scraping the node is likely to cost, 0 if that is not known; taken
	// is what was taken for the scrape that is under way.
	cost, taken time.Duration
	// lasted is how long the last scrape took that succeeded, 0 before the first.
	lasted time.Duration
	// isGone marks a node that left the set while it was scraped.
	isGone bool
	// cancel ends the scrape that is under way; it is Rounds'.
	cancel context.CancelCauseFunc
}

// plan knows who is due.
type plan struct {
	config Config
	nodes  map[string]*entry
	// Every node that is not being scraped is in one of these.
	regular, urgent, failing queue

	slots  slots
	budget budget
	// heldBy is what the first that is due waits for; held counts those that began late
	// because of it.
	heldBy Bound
	held   [Bounds]uint64
	// wasUrgent tells that the last to start was urgent.
	wasUrgent bool
}

func newPlan(config Config) *plan {
	return &plan{
		config: config, nodes: map[string]*entry{}, budget: newBudget(config),
		slots: slots{maxRunning: config.MaxConcurrent, slowAfter: config.SlowAfter},
	}
}

// set makes these the nodes, and returns those that are to be forgotten now.
func (p *plan) set(now time.Time, targets []kubelet.Target) (gone []string) {
	wanted := make(map[string]struct{}, len(targets))
	for _, t := range targets {
		wanted[t.Node] = struct{}{}
		e := p.nodes[t.Node]
		if e == nil {
			e = &entry{phase: timing.Phase(t.Node, p.config.Period), state: State{Target: t}}
			p.nodes[t.Node] = e
			p.schedule(e, now, &p.regular, p.onGrid(e, now))
			continue
		}
		e.isGone, e.state.Target = false, t
	}
	for name, e := range p.nodes {
		if _, isWanted := wanted[name]; isWanted {
			continue
		}
		if e.queue == nil {
			e.isGone = true
			continue
		}
		e.leave()
		delete(p.nodes, name)
		gone = append(gone, name)
	}
	return gone
}

// mark makes a node urgent. One that fails keeps waiting.
func (p *plan) mark(now time.Time, name string) {
	e := p.nodes[name]
	if e == nil || e.isUrgent || e.queue == &p.failing {
		return
	}
	e.isUrgent = true
	if e.queue == nil {
		return // when it is done
	}
	e.leave()
	p.schedule(e, now, &p.urgent, e.state.Started.Add(p.config.UrgentGap))
}

// next starts the node that is to be scraped now. Otherwise it says how long
// nothing will change, 0 if that is until a scrape ends or the nodes do. The scrapes
// that are cancelled make room for it.
func (p *plan) next(now time.Time) (start *entry, cancelled []*entry, wait time.Duration) {
	cancelled = p.slots.release(now)
	q := p.first(now)
	if q == nil {
		p.heldBy = Unbound
		return nil, cancelled, p.untilDue(now)
	}
	if p.slots.isFull() {
		p.heldBy = ByConcurrency
		return nil, cancelled, p.slots.untilRelease(now)
	}
	p.budget.fill(now)
	cost := p.budget.cost(q.First())
	if wait, bound := p.budget.wait(cost); wait > 0 {
		p.heldBy = bound
		return nil, cancelled, wait
	}
	return p.begin(now, q, cost), cancelled, 0
}

// begin starts the first of a queue.
func (p *plan) begin(now time.Time, q *queue, cost time.Duration) *entry {
	p.budget.take(cost)
	e := q.take()
	p.wasUrgent, e.isUrgent = q == &p.urgent, false
	e.state.Started, e.taken = now, cost
	p.slots.begin(e)
	if p.heldBy != Unbound && now.Sub(e.due) > p.config.Period/10 {
		p.held[p.heldBy]++
	}
	return e
}

// first is the queue whose first node is to be scraped now, nil if none is due.
func (p *plan) first(now time.Time) *queue {
	others := &p.regular
	if p.slots.mayRetry() && p.failing.isDue(now) && (!p.regular.isDue(now) || p.failing.due().Before(p.regular.due())) {
		others = &p.failing
	}
	othersAreDue := others.isDue(now)
	areStarving := othersAreDue && now.Sub(others.due()) > starvingPeriods*p.config.Period
	if p.urgent.isDue(now) && (!areStarving || !p.wasUrgent) {
		return &p.urgent
	}
	if othersAreDue {
		return others
	}
	return nil
}

func (p *plan) untilDue(now time.Time) time.Duration {
	var first time.Time
	for _, q := range []*queue{&p.regular, &p.urgent, &p.failing} {
		if q.Len() == 0 || q == &p.failing && !p.slots.mayRetry() {
			continue
		}
		if first.IsZero() || q.due().Before(first) {
			first = q.due()
		}
	}
	if first.IsZero() {
		return 0
	}
	return first.Sub(now)
}

// done ends a scrape, which cost so much CPU. It tells whether the node is to be forgotten now, and
// whether it began or ceased to fail.
func (p *plan) done(now time.Time, e *entry, spent time.Duration, err error) (isGone, isChanged bool) {
	p.slots.end(now, e, err)
	p.budget.fill(now)
	p.budget.settle(e.taken, spent)
	e.learn(spent)
	if e.isGone {
		delete(p.nodes, e.state.Target.Node)
		return true, false
	}
	isChanged = e.state.settle(now, err)
	switch {
	case err != nil:
		p.schedule(e, now, &p.failing, now.Add(p.backoff(e)))
	case e.isUrgent:
		p.schedule(e, now, &p.urgent, e.state.Started.Add(p.config.UrgentGap))
	default:
		// Who was late takes its own place in the period again.
		p.schedule(e, now, &p.regular, p.onGrid(e, later(now, e.state.Started.Add(p.config.Period/2))))
	}
	return false, isChanged
}

func (p *plan) schedule(e *entry, now time.Time, q *queue, due time.Time) {
	e.due = later(now, due)
	q.add(e)
}

// onGrid is the next of the node's own moments, one in each period.
func (p *plan) onGrid(e *entry, after time.Time) time.Time {
	return timing.Next(after, e.phase, p.config.Period)
}

// backoff doubles with each failure. A tenth more or less by the node's name keeps nodes
// apart that failed together.
func (p *plan) backoff(e *entry) time.Duration {
	wait := p.config.Period
	for range min(e.state.Failures, 30) {
		wait = min(2*wait, p.config.MaxBackoff)
	}
	return wait - wait/10 + timing.Phase(e.state.Target.Node, wait/5)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
