package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// starvingPeriods is how many periods late a target must be to go before urgent
// ones.
const starvingPeriods = 10

// entry is a target.
type entry[T Target] struct {
	state State[T]
	// phase is the target's own moment in each period.
	phase time.Duration
	// due is when the target may be scraped; place is its index in the queue that it is
	// in, which is none while it is scraped.
	due   time.Time
	queue *queue[T]
	place int

	// isUrgent targets are in the urgent queue, or go there when their scrape
	// succeeds.
	isUrgent bool
	// mustRetry says that the scrape that is under way is repeated at once if it fails.
	mustRetry bool
	// cost is what scraping the target is likely to cost, 0 if that is not known; taken
	// is what was taken for the scrape that is under way.
	cost, taken time.Duration
	// lasted is how long the last scrape took that succeeded, 0 before the first.
	lasted time.Duration
	tenant *tenant[T]
	// isGone marks a target that left the set while it was scraped.
	isGone bool
	// scraped is the target as of when its scrape began, which reads it without the lock.
	scraped T
	// worker makes the scrape that is under way; it is Rounds'.
	worker *worker[T]
}

// plan decides which target is scraped next.
type plan[T Target] struct {
	config  Config[T]
	targets map[string]*entry[T]
	// Every target that is not being scraped is in one of these, or parked at its tenant.
	regular, urgent, failing queue[T]
	tenants                  tenants[T]

	slots  slots[T]
	budget budget
	// delayedBy is what the first that is due waits for; delayed counts those that began late
	// because of it.
	delayedBy Bound
	delayed   [Bounds]uint64
	// wasUrgent tells that the last to start was urgent.
	wasUrgent bool
}

func newPlan[T Target](config Config[T]) *plan[T] {
	p := &plan[T]{
		config: config, targets: map[string]*entry[T]{}, budget: newBudget(config.MaxPerSecond, config.MaxCPU),
		slots: slots[T]{maxRunning: config.MaxConcurrent, slowAfter: config.SlowAfter},
	}
	p.tenants.byName = map[string]*tenant[T]{}
	p.slots.tenants = &p.tenants
	return p
}

// set makes these the targets, and returns those that are to be forgotten now.
func (p *plan[T]) set(now time.Time, targets []T) (gone []T) {
	wanted := make(map[string]struct{}, len(targets))
	for _, t := range targets {
		key := t.Key()
		wanted[key] = struct{}{}
		if e := p.add(t); e != nil {
			p.schedule(e, now, &p.regular, p.onGrid(e, now))
		}
	}
	for key, e := range p.targets {
		if _, isWanted := wanted[key]; !isWanted && p.remove(e) {
			gone = append(gone, e.state.Target)
		}
	}
	return gone
}

// add makes one a target. It returns its entry if it is new, which is in no queue yet.
func (p *plan[T]) add(target T) *entry[T] {
	key := target.Key()
	if e := p.targets[key]; e != nil {
		e.isGone, e.state.Target = false, target
		return nil
	}
	name := ""
	if p.config.Group != nil {
		name = p.config.Group(target)
	}
	e := &entry[T]{
		phase: target.Phase(p.config.Period), state: State[T]{Target: target}, tenant: p.tenants.join(name),
	}
	p.targets[key] = e
	return e
}

func (p *plan[T]) forget(e *entry[T]) {
	delete(p.targets, e.state.Target.Key())
	if e.state.IsFailing() {
		p.tenants.addFailing(e.tenant, -1)
	}
	p.tenants.leave(e.tenant)
}

// remove makes one no target any more, and tells whether it is to be forgotten now.
func (p *plan[T]) remove(e *entry[T]) bool {
	if e.queue == nil {
		e.isGone = true
		return false
	}
	e.leave()
	p.forget(e)
	return true
}

// mark makes a target urgent. One that fails keeps waiting.
func (p *plan[T]) mark(now time.Time, key string) {
	e := p.targets[key]
	if e == nil || e.isUrgent || e.queue != nil && e.state.IsFailing() {
		return
	}
	e.isUrgent = true
	if e.queue == nil {
		return // when it is done
	}
	e.leave()
	p.schedule(e, now, &p.urgent, e.state.Started.Add(p.config.UrgentGap))
}

// retry lets a target that fails be scraped now. A scrape that is under way may fail for what is mended by now.
func (p *plan[T]) retry(now time.Time, key string) {
	switch e := p.targets[key]; {
	case e == nil:
	case e.queue == nil:
		e.mustRetry = true
	case e.state.IsFailing():
		e.leave()
		p.schedule(e, now, &p.failing, now)
	}
}

// next starts the target that is to be scraped now. Otherwise it says how long
// nothing will change, 0 if that is until a scrape ends or the targets do. The scrapes
// that are cancelled make room for it.
func (p *plan[T]) next(now time.Time) (start *entry[T], cancelled []*entry[T], wait time.Duration) {
	cancelled = p.slots.release(now)
	q := p.first(now)
	if q == nil {
		p.delayedBy = Unbound
		return nil, cancelled, p.untilDue(now)
	}
	if p.slots.isFull() {
		p.delayedBy = ByConcurrency
		return nil, cancelled, p.slots.untilRelease(now)
	}
	p.budget.fill(now)
	cost := q.First().likelyCost(p.budget.typical)
	if wait, bound := p.budget.wait(cost); wait > 0 {
		p.delayedBy = bound
		return nil, cancelled, wait
	}
	return p.begin(now, q, cost), cancelled, 0
}

// begin starts the first of a queue.
func (p *plan[T]) begin(now time.Time, q *queue[T], cost time.Duration) *entry[T] {
	p.budget.take(cost)
	e := q.take()
	if e.state.IsFailing() {
		e.tenant.retries++
	}
	p.wasUrgent, e.isUrgent, e.mustRetry = q == &p.urgent, false, false
	e.state.Started, e.taken, e.scraped = now, cost, e.state.Target
	p.slots.begin(e)
	if p.delayedBy != Unbound && now.Sub(e.due) > p.config.Period/10 {
		p.delayed[p.delayedBy]++
	}
	return e
}

// first is the queue whose first target is to be scraped now, nil if none is due.
func (p *plan[T]) first(now time.Time) *queue[T] {
	others := &p.regular
	if p.mayRetry(now) && (!p.regular.isDue(now) || p.failing.due().Before(p.regular.due())) {
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

// mayRetry reports whether the first target that fails may be scraped now. Tenants have equal parts of the places for
// that: silent targets take a place for their whole timeout, and those of one would delay the others' for minutes.
func (p *plan[T]) mayRetry(now time.Time) bool {
	for p.slots.mayRetry() && p.failing.isDue(now) {
		e := p.failing.First()
		if e.tenant.retries < p.retriesEach() {
			return true
		}
		p.failing.take()
		e.tenant.parked.add(e)
	}
	return false
}

// retriesEach is a tenant's part of the places for retries.
func (p *plan[T]) retriesEach() int { return max(1, p.slots.maxRetries()/max(1, p.tenants.failing)) }

// endRetry ends the scrape of a target that had failed. Parked ones may be next.
func (p *plan[T]) endRetry(t *tenant[T]) {
	t.retries--
	for n := t.retries; n < p.retriesEach() && t.parked.Len() > 0; n++ {
		p.failing.add(t.parked.take())
	}
}

func (p *plan[T]) untilDue(now time.Time) time.Duration {
	if due := p.due(); !due.IsZero() {
		return due.Sub(now)
	}
	return 0
}

// due is when the first target is due, zero if none is.
func (p *plan[T]) due() (first time.Time) {
	for _, q := range [...]*queue[T]{&p.regular, &p.urgent, &p.failing} {
		if q.Len() == 0 || q == &p.failing && !p.slots.mayRetry() {
			continue
		}
		if first.IsZero() || q.due().Before(first) {
			first = q.due()
		}
	}
	return first
}

// isDueBefore reports whether a scrape may begin before the given time, or at any time if that is zero, by which next
// said that nothing changes as long as nothing else does.
func (p *plan[T]) isDueBefore(until time.Time) bool {
	if p.delayedBy != Unbound {
		return true // what it waits for may be there now
	}
	due := p.due()
	return !due.IsZero() && (until.IsZero() || due.Before(until))
}

// done ends a scrape, which cost so much CPU. It tells whether the target is to be forgotten now, and
// whether it began or ceased to fail.
func (p *plan[T]) done(now time.Time, e *entry[T], spent time.Duration, err error) (isGone, isChanged bool) {
	p.slots.end(now, e, err)
	if e.state.IsFailing() {
		p.endRetry(e.tenant)
	}
	p.budget.fill(now)
	p.budget.refund(e.taken, spent)
	e.learn(spent)
	if e.isGone {
		p.forget(e)
		return true, false
	}
	if isChanged = e.state.record(now, err); isChanged {
		n := -1
		if err != nil {
			n = 1
		}
		p.tenants.addFailing(e.tenant, n)
	}
	switch {
	case err != nil && e.mustRetry:
		p.schedule(e, now, &p.failing, now)
	case err != nil:
		p.schedule(e, now, &p.failing, now.Add(p.backoff(e)))
	case e.isUrgent:
		p.schedule(e, now, &p.urgent, e.state.Started.Add(p.config.UrgentGap))
	default:
		p.schedule(e, now, &p.regular, p.following(now, e))
	}
	return false, isChanged
}

// following is when a target is scraped again that was just scraped. Who was late takes its own place in the period
// again.
func (p *plan[T]) following(now time.Time, e *entry[T]) time.Time {
	phase, period := p.grid(e)
	return timing.Next(timing.Later(now, e.state.Started.Add(period/2)), phase, period)
}

// grid is how often a target is scraped, and its own moment in that time.
func (p *plan[T]) grid(e *entry[T]) (phase, period time.Duration) {
	if p.config.Stretch == nil {
		return e.phase, p.config.Period
	}
	period = time.Duration(max(1, p.config.Stretch(e.state.Target)) * float64(p.config.Period))
	return e.state.Target.Phase(period), period
}

func (p *plan[T]) schedule(e *entry[T], now time.Time, q *queue[T], due time.Time) {
	e.due = timing.Later(now, due)
	q.add(e)
}

// onGrid is the next of the target's own moments.
func (p *plan[T]) onGrid(e *entry[T], after time.Time) time.Time {
	phase, period := p.grid(e)
	return timing.Next(after, phase, period)
}

// backoff doubles with each failure. A tenth more or less by the target's phase keeps targets
// apart that failed together.
func (p *plan[T]) backoff(e *entry[T]) time.Duration {
	wait := p.config.Period
	for range min(e.state.Failures, 30) {
		wait = min(2*wait, p.config.MaxBackoff)
	}
	return wait - wait/10 + e.state.Target.Phase(wait/5)
}
