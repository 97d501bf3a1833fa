package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// starvingPeriods is how many periods late a target must be to go before urgent ones.
const starvingPeriods = 10

// entry is a target.
type entry[T Target] struct {
	state State[T]
	// phase is the target's own offset in each period.
	phase time.Duration
	// due is when the target may be scraped. queue and place are its position; queue is nil while it is scraped.
	due   time.Time
	queue *queue[T]
	place int

	// isUrgent targets are in the urgent queue, or join it when their scrape succeeds.
	isUrgent bool
	// mustRetry repeats the current scrape at once if it fails.
	mustRetry bool
	// cost is the estimated cost of scraping the target, 0 before the first; taken is the estimate that was taken from the
	// budget for the current scrape.
	cost, taken time.Duration
	// lasted is the duration of the last scrape that succeeded, 0 before the first.
	lasted time.Duration
	tenant *tenant[T]
	// isGone marks a target that left the set while it was scraped.
	isGone bool
	// scraped is the copy of the target that the current scrape reads without the lock.
	scraped T
	// worker runs the current scrape; it belongs to Rounds.
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
	// delayedBy is the bound that delays the first target that is due; delayed counts late scrapes by the bound that
	// delayed them.
	delayedBy Bound
	delayed   [Bounds]uint64
	// wasUrgent is true if the last target that started was urgent.
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

// set replaces the targets. It returns those to forget now; the others are being scraped.
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

// add adds a target. It returns the entry of a new one, which is in no queue yet.
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

// remove removes a target. It returns true if the target is to be forgotten now: it is not being scraped.
func (p *plan[T]) remove(e *entry[T]) bool {
	if e.queue == nil {
		e.isGone = true
		return false
	}
	e.leave()
	p.forget(e)
	return true
}

// mark makes a target urgent. A failing one keeps its backoff.
func (p *plan[T]) mark(now time.Time, key string) {
	e := p.targets[key]
	if e == nil || e.isUrgent || e.queue != nil && e.state.IsFailing() {
		return
	}
	e.isUrgent = true
	if e.queue == nil {
		return // queued when the scrape ends
	}
	e.leave()
	p.schedule(e, now, &p.urgent, e.state.Started.Add(p.config.UrgentGap))
}

// retry makes a failing target due now. If it is being scraped, and that scrape fails, the cause may have been fixed
// during the scrape: it is repeated at once.
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

// next starts the target to scrape now. Without one it returns the time until the plan may change by itself, 0 if it
// changes only with the end of a scrape or with the targets. The cancelled scrapes make room.
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

// begin starts the first target of a queue.
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

// first returns the queue with the target to scrape now; nil if none is due.
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

// mayRetry reports whether the first failing target may be scraped now. Tenants have equal shares of the slots for
// retries: silent targets take a slot for their whole timeout, and those of one tenant would delay the others' for
// minutes.
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

// retriesEach is a tenant's share of the slots for retries.
func (p *plan[T]) retriesEach() int { return max(1, p.slots.maxRetries()/max(1, p.tenants.failing)) }

// endRetry ends the scrape of a target that had failed. Parked targets of its tenant may follow.
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

// due returns when the first target is due; zero if no scrape is scheduled.
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

// isDueBefore reports whether a scrape may begin before until, the end of the wait that next returned; zero for any
// time.
func (p *plan[T]) isDueBefore(until time.Time) bool {
	if p.delayedBy != Unbound {
		return true // the bound may be free now
	}
	due := p.due()
	return !due.IsZero() && (until.IsZero() || due.Before(until))
}

// done ends a scrape that took this much CPU. isGone reports that the target is to be forgotten now, isChanged that it
// began or ceased to fail.
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

// following returns the time of the next scrape after a scrape. A late target returns to its own place in the period.
func (p *plan[T]) following(now time.Time, e *entry[T]) time.Time {
	phase, period := p.grid(e)
	return timing.Next(timing.Later(now, e.state.Started.Add(period/2)), phase, period)
}

// grid returns a target's period and its offset in it.
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

// onGrid returns the next of the target's own times.
func (p *plan[T]) onGrid(e *entry[T], after time.Time) time.Time {
	phase, period := p.grid(e)
	return timing.Next(after, phase, period)
}

// backoff doubles with each failure. A spread of a tenth by the target's phase separates targets that failed together.
func (p *plan[T]) backoff(e *entry[T]) time.Duration {
	wait := p.config.Period
	for range min(e.state.Failures, 30) {
		wait = min(2*wait, p.config.MaxBackoff)
	}
	return wait - wait/10 + e.state.Target.Phase(wait/5)
}
