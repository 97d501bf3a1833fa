package scrape

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// The defaults of Config.
const (
	DefaultPeriod        = time.Second
	DefaultMaxPerSecond  = 1000
	DefaultMaxConcurrent = 64
	// DefaultMaxCPU is the cost of DefaultMaxPerSecond scrapes of nodes with 110 pods.
	DefaultMaxCPU     = 0.5
	DefaultSlowAfter  = 250 * time.Millisecond
	DefaultUrgentGap  = trigger.EarlyScrapeGap
	DefaultMaxBackoff = 30 * time.Second
)

// Target is a server to scrape.
type Target interface {
	// Key identifies it: two targets with the same key are the same.
	Key() string
	// Phase is its own offset in each period, as that of timing.Phase.
	Phase(period time.Duration) time.Duration
	// String is its name in errors.
	String() string
}

// Config configures Rounds. Zero values are the defaults.
type Config[T Target] struct {
	// Scrape scrapes one target, and ends with ctx. Many goroutines call it, but only one at a time for each target. It
	// returns the CPU that the scrape took, 0 if that is negligible.
	Scrape func(ctx context.Context, target T) (cpu time.Duration, err error)
	// Forget, if it is not nil, is called for targets that have left the set, when their scrape has ended.
	Forget func(target T)
	// Changed, if it is not nil, is called when a target begins or ceases to fail. Calls
	// may be late; State is authoritative.
	Changed func(State[T])
	// Group, if it is not nil, returns a name that a target shares with others, such as its namespace. A group with slow
	// scrapes yields to others. The group of a target must not change while it is in the set.
	Group func(target T) string
	// Stretch returns the factor, at least 1, by which a target's period is longer than Period. Nil is 1 for all. It must
	// take no lock that a caller of Rounds holds.
	Stretch func(target T) float64

	// Period is the time between two scrapes of a target.
	Period time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: the scrapes that begin in a second, their CPU in cores, and
	// the scrapes under way. A scrape that has taken longer than SlowAfter leaves its slot to another; there are at most
	// slowPerSlot slow ones for each slot.
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	SlowAfter     time.Duration
	// UrgentGap is the shortest time between the starts of a target's last scrape and of its urgent one.
	UrgentGap time.Duration
	// MaxBackoff is the longest pause of a failing target.
	MaxBackoff time.Duration
}

// Totals are counters since the start.
type Totals struct {
	Scrapes, Failures uint64
	// CPU is the CPU time of the scrapes.
	CPU time.Duration
	// Held counts scrapes that began more than a tenth of a period late, by the bound that delayed them.
	Held [Bounds]uint64
}

// Rounds scrapes a set of targets while Run runs. It runs once.
type Rounds[T Target] struct {
	config Config[T]
	// wake has an element when there may be something to start.
	wake chan struct{}

	// mu guards the following.
	mu     sync.Mutex
	plan   *plan[T]
	totals Totals
	// isWaiting is true while Run waits: until the given time or, if that is zero, until wake.
	isWaiting bool
	until     time.Time
	// idle holds the workers without a scrape. It is empty after isOver, which is set at the end of Run.
	idle   []*worker[T]
	isOver bool
}

// worker runs one scrape after another, with one context until a scrape is cancelled. A context for each scrape took a
// thirtieth of the CPU of scrapes, and the stack of a new goroutine has to grow for each.
type worker[T Target] struct {
	// next passes the entry to scrape. It is closed to end the worker.
	next   chan *entry[T]
	cancel context.CancelCauseFunc
	// isCancelled says that its scrape was cancelled, which ends its context. The lock of Rounds guards it.
	isCancelled bool
}

// New checks the configuration. It makes no request.
func New[T Target](config Config[T]) (*Rounds[T], error) {
	if config.Scrape == nil {
		return nil, errors.New("rounds of scrapes need a way to scrape")
	}
	config = config.withDefaults()
	if min(config.Period, config.SlowAfter, config.UrgentGap) < 0 || min(config.MaxPerSecond, config.MaxCPU) < 0 ||
		config.MaxConcurrent < 0 ||
		config.MaxBackoff < config.Period {
		return nil, fmt.Errorf("rounds of scrapes: period %s, at most %g scrapes a second, %g cores and %d at a time, "+
			"slow after %s, urgent after %s, "+
			"backoff up to %s: none may be negative, nor the backoff shorter than the period",
			config.Period, config.MaxPerSecond, config.MaxCPU, config.MaxConcurrent, config.SlowAfter, config.UrgentGap,
			config.MaxBackoff)
	}
	return &Rounds[T]{config: config, wake: make(chan struct{}, 1), plan: newPlan(config)}, nil
}

func (c Config[T]) withDefaults() Config[T] {
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.MaxPerSecond == 0 {
		c.MaxPerSecond = DefaultMaxPerSecond
	}
	if c.MaxCPU == 0 {
		c.MaxCPU = DefaultMaxCPU
	}
	if c.MaxConcurrent == 0 {
		c.MaxConcurrent = DefaultMaxConcurrent
	}
	if c.SlowAfter == 0 {
		c.SlowAfter = DefaultSlowAfter
	}
	if c.UrgentGap == 0 {
		c.UrgentGap = DefaultUrgentGap
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = max(DefaultMaxBackoff, c.Period)
	}
	return c
}

// Add adds these targets, and scrapes new ones as soon as the budget permits.
func (r *Rounds[T]) Add(targets ...T) {
	r.add(targets, func(_ *entry[T], now time.Time) time.Time { return now })
}

// Join adds these targets, and scrapes new ones at their own times: if they replace others, this needs no more budget.
func (r *Rounds[T]) Join(targets ...T) {
	r.add(targets, func(e *entry[T], now time.Time) time.Time { return r.plan.onGrid(e, now) })
}

func (r *Rounds[T]) add(targets []T, due func(e *entry[T], now time.Time) time.Time) {
	r.mu.Lock()
	now := time.Now()
	for _, t := range targets {
		if e := r.plan.add(t); e != nil {
			r.plan.schedule(e, now, &r.plan.regular, due(e, now))
		}
	}
	r.unlock()
}

// Remove ends the scraping of these targets.
func (r *Rounds[T]) Remove(keys ...string) {
	var gone []T
	r.mu.Lock()
	for _, key := range keys {
		if e := r.plan.targets[key]; e != nil && r.plan.remove(e) {
			gone = append(gone, e.state.Target)
		}
	}
	r.mu.Unlock()
	for _, target := range gone {
		r.forget(target)
	}
}

// Retry scrapes the failing ones of these targets as soon as the budget permits, without their backoff.
func (r *Rounds[T]) Retry(keys ...string) {
	r.mu.Lock()
	now := time.Now()
	for _, key := range keys {
		r.plan.retry(now, key)
	}
	r.unlock()
}

// Set replaces the targets: new ones are scraped within a period, the others keep their state, also if their address
// changes.
func (r *Rounds[T]) Set(targets []T) {
	r.mu.Lock()
	gone := r.plan.set(time.Now(), targets)
	r.unlock()
	for _, target := range gone {
		r.forget(target)
	}
}

// Urgent scrapes these targets before all others, once. It ignores targets outside the set, and failing ones.
func (r *Rounds[T]) Urgent(keys ...string) {
	r.mu.Lock()
	now := time.Now()
	for _, key := range keys {
		r.plan.mark(now, key)
	}
	r.unlock()
}

// State returns the state of a target's scrapes; false if the target is not in the set.
func (r *Rounds[T]) State(key string) (State[T], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.plan.targets[key]
	if e == nil || e.isGone {
		return State[T]{}, false
	}
	return e.state, true
}

// Totals counts the scrapes that have ended.
func (r *Rounds[T]) Totals() Totals {
	r.mu.Lock()
	defer r.mu.Unlock()
	totals := r.totals
	totals.Held = r.plan.delayed
	return totals
}

// Run scrapes until ctx ends, and returns when the last scrape has ended. It forgets the targets that were being
// scraped then. It runs once: to scrape again, make new Rounds.
func (r *Rounds[T]) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer r.finish()
	r.mu.Lock()
	isOver := r.isOver
	r.mu.Unlock()
	if isOver {
		panic("scrape: Rounds run a second time")
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		e, wait := r.start()
		if e != nil {
			if e.worker == nil {
				own, cancel := context.WithCancelCause(ctx)
				w := &worker[T]{next: make(chan *entry[T], 1), cancel: cancel}
				running.Go(func() { r.work(own, w) })
				e.worker = w
			}
			e.worker.next <- e
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-due:
		}
	}
}

// finish ends the idle workers. The others end after their scrape.
func (r *Rounds[T]) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.idle {
		close(w.next)
	}
	r.idle, r.isOver = nil, true
}

// work scrapes until the worker ends.
func (r *Rounds[T]) work(ctx context.Context, w *worker[T]) {
	defer w.cancel(nil)
	for e := range w.next {
		if !r.scrape(ctx, w, e) {
			return
		}
	}
}

// start returns the entry to scrape now, with an idle worker if there is one. Without an entry it returns how long to
// wait, as plan.next does.
func (r *Rounds[T]) start() (e *entry[T], wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	e, cancelled, wait := r.plan.next(now)
	for _, other := range cancelled {
		other.worker.isCancelled = true
		other.worker.cancel(errCancelled)
	}
	if e == nil {
		r.isWaiting, r.until = true, time.Time{}
		if wait > 0 {
			r.until = now.Add(wait)
		}
		return nil, wait
	}
	r.isWaiting = false
	e.worker = nil
	if last := len(r.idle) - 1; last >= 0 {
		e.worker, r.idle = r.idle[last], r.idle[:last]
	}
	return e, 0
}

// scrape scrapes a started target. It returns whether the worker waits for another one.
func (r *Rounds[T]) scrape(ctx context.Context, w *worker[T], e *entry[T]) (mayWait bool) {
	spent, err := r.config.Scrape(ctx, e.scraped)
	isCancelled := errors.Is(context.Cause(ctx), errCancelled)
	if ctx.Err() != nil && !isCancelled {
		r.abandon(e) // no more scrapes start, and the target did not fail
		return false
	}
	if err != nil && isCancelled {
		err = fmt.Errorf("%s: %w", e.scraped.String(), errCancelled)
	}
	return r.end(w, e, spent, err)
}

// abandon forgets a target whose scrape was under way at the end of Run: Remove leaves such a target to its scrape.
func (r *Rounds[T]) abandon(e *entry[T]) {
	r.mu.Lock()
	r.plan.forget(e)
	r.mu.Unlock()
	r.forget(e.state.Target)
}

// errCancelled is the error of a cancelled scrape.
var errCancelled = errors.New("no answer yet, and too many others that do not answer")

// end records a scrape that has ended. It returns whether the worker waits for another one. A worker whose scrape was
// cancelled ends, even if that had just succeeded. So does one that calls Forget or Changed, since that may take time.
func (r *Rounds[T]) end(w *worker[T], e *entry[T], spent time.Duration, err error) (mayWait bool) {
	r.mu.Lock()
	r.totals.Scrapes++
	r.totals.CPU += spent
	if err != nil {
		r.totals.Failures++
	}
	isGone, isChanged := r.plan.done(time.Now(), e, spent, err)
	isChanged = isChanged && r.config.Changed != nil
	mayWait = !w.isCancelled && !isGone && !isChanged && !r.isOver && len(r.idle) < r.config.MaxConcurrent
	if mayWait {
		r.idle = append(r.idle, w)
	}
	state := e.state
	r.unlock()
	if isGone {
		r.forget(state.Target)
	}
	if isChanged {
		r.config.Changed(state)
	}
	return mayWait
}

func (r *Rounds[T]) forget(target T) {
	if r.config.Forget != nil {
		r.config.Forget(target)
	}
}

// unlock unlocks mu after a change of the plan, and wakes Run if a scrape may begin before the end of Run's wait.
func (r *Rounds[T]) unlock() {
	mustWake := r.isWaiting && r.plan.isDueBefore(r.until)
	if mustWake {
		r.isWaiting = false
	}
	r.mu.Unlock()
	if mustWake {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
