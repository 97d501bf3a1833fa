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
	// DefaultMaxCPU is what DefaultMaxPerSecond scrapes of nodes with 110 pods cost.
	DefaultMaxCPU     = 0.5
	DefaultSlowAfter  = 250 * time.Millisecond
	DefaultUrgentGap  = trigger.EarlyScrapeGap
	DefaultMaxBackoff = 30 * time.Second
)

// Target is what is scraped.
type Target interface {
	// Key is its name: two targets with the same one are the same.
	Key() string
	// Phase is its own moment in each period, as that of timing.Phase.
	Phase(period time.Duration) time.Duration
	// String is how errors call it.
	String() string
}

// Config of Rounds. Zero values mean the defaults.
type Config[T Target] struct {
	// Scrape asks one target, and ends with ctx. It is called by many goroutines,
	// for each target by one at a time. It says how much CPU that cost, 0 if none worth
	// counting.
	Scrape func(ctx context.Context, target T) (cpu time.Duration, err error)
	// Forget, if it is not nil, is called for targets that have left the set and are not
	// being scraped any more.
	Forget func(target T)
	// Changed, if it is not nil, is called when a target begins or ceases to fail. Calls
	// may be late; State is authoritative.
	Changed func(State[T])
	// Group, if it is not nil, is a name that a target shares with others, such as its namespace. A group whose scrapes
	// take long gives way to others. It is the same as long as the target is in the set.
	Group func(target T) string
	// Stretch is by how much a target's period is longer than the others', at least 1. Nil is 1 for all. It must take
	// no lock under which Rounds is called.
	Stretch func(target T) float64

	// Period is how often each target is scraped.
	Period time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: how many scrapes begin in
	// a second, how much CPU they may cost, in cores, and how many are under way. A
	// scrape that has taken longer than SlowAfter leaves its place to another; of those
	// there are at most slowPerSlot for each place.
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	SlowAfter     time.Duration
	// UrgentGap is how long after its last scrape's beginning an urgent target may be
	// scraped again.
	UrgentGap time.Duration
	// MaxBackoff is how long a target that fails is left alone at most.
	MaxBackoff time.Duration
}

// Totals are counts since the beginning.
type Totals struct {
	Scrapes, Failures uint64
	// CPU is what they cost.
	CPU time.Duration
	// Held are those that began more than a tenth of a period late, by what they had to
	// wait for.
	Held [Bounds]uint64
}

// Rounds scrapes a set of targets while Run runs, which is once.
type Rounds[T Target] struct {
	config Config[T]
	// wake has an element when there may be something to start.
	wake chan struct{}

	// mu guards the following.
	mu     sync.Mutex
	plan   *plan[T]
	totals Totals
	// isWaiting says that Run waits, until the given time or, if that is zero, until it is woken.
	isWaiting bool
	until     time.Time
	// idle are the workers without a scrape. There are none after isOver, which the end of Run sets.
	idle   []*worker[T]
	isOver bool
}

// worker makes one scrape after the other, all with one context as long as none is cancelled. A context for each took a
// thirtieth of the CPU of scrapes, and the stack of a new goroutine has to grow for each.
type worker[T Target] struct {
	// next has the entry to scrape. It is closed when there will be none.
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

// Add makes these targets too, and scrapes those that are new as soon as may be.
func (r *Rounds[T]) Add(targets ...T) {
	r.add(targets, func(_ *entry[T], now time.Time) time.Time { return now })
}

// Join makes these targets too, and scrapes those that are new at their own moments: where others leave for them, that
// takes no more of the budget.
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

// Retry scrapes those of these targets that fail as soon as may be, without waiting for as long as
// their failures demand.
func (r *Rounds[T]) Retry(keys ...string) {
	r.mu.Lock()
	now := time.Now()
	for _, key := range keys {
		r.plan.retry(now, key)
	}
	r.unlock()
}

// Set makes these the targets, and no others: new ones are scraped within a period,
// known ones keep their state, also where their address is another.
func (r *Rounds[T]) Set(targets []T) {
	r.mu.Lock()
	gone := r.plan.set(time.Now(), targets)
	r.unlock()
	for _, target := range gone {
		r.forget(target)
	}
}

// Urgent asks for a scrape of these targets before all others, once. It does nothing
// for targets that are not in the set, and for those that fail.
func (r *Rounds[T]) Urgent(keys ...string) {
	r.mu.Lock()
	now := time.Now()
	for _, key := range keys {
		r.plan.mark(now, key)
	}
	r.unlock()
}

// State tells how a target's scrapes go; false if it is not in the set.
func (r *Rounds[T]) State(key string) (State[T], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.plan.targets[key]
	if e == nil || e.isGone {
		return State[T]{}, false
	}
	return e.state, true
}

// Totals counts scrapes that have ended.
func (r *Rounds[T]) Totals() Totals {
	r.mu.Lock()
	defer r.mu.Unlock()
	totals := r.totals
	totals.Held = r.plan.delayed
	return totals
}

// Run scrapes until ctx ends, and returns when no scrape is under way any more. It forgets the targets that were being
// scraped then. It runs once: to scrape again takes other Rounds.
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

// finish ends the workers without a scrape. The others end after theirs.
func (r *Rounds[T]) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.idle {
		close(w.next)
	}
	r.idle, r.isOver = nil, true
}

// work scrapes until there is nothing more to do for the worker.
func (r *Rounds[T]) work(ctx context.Context, w *worker[T]) {
	defer w.cancel(nil)
	for e := range w.next {
		if !r.scrape(ctx, w, e) {
			return
		}
	}
}

// start is the target whose scrape begins now, with an idle worker if there is one. Otherwise it returns how long to
// wait, as plan does.
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

// scrape scrapes a target that was started. It returns whether the worker is to wait for another one.
func (r *Rounds[T]) scrape(ctx context.Context, w *worker[T], e *entry[T]) (mayWait bool) {
	spent, err := r.config.Scrape(ctx, e.scraped)
	isCancelled := errors.Is(context.Cause(ctx), errCancelled)
	if ctx.Err() != nil && !isCancelled {
		r.abandon(e) // nothing starts any more, and the target did not fail
		return false
	}
	if err != nil && isCancelled {
		err = fmt.Errorf("%s: %w", e.scraped.String(), errCancelled)
	}
	return r.end(w, e, spent, err)
}

// abandon lets go of a target whose scrape was under way when all scraping ended: Remove leaves those to the scrape.
func (r *Rounds[T]) abandon(e *entry[T]) {
	r.mu.Lock()
	r.plan.forget(e)
	r.mu.Unlock()
	r.forget(e.state.Target)
}

// errCancelled is why a scrape that was cancelled failed.
var errCancelled = errors.New("no answer yet, and too many others that do not answer")

// end takes in how a scrape ended. It returns whether the worker waits for another one. One that was cancelled does
// not, even if its scrape had just succeeded, nor does one that calls Forget or Changed: that may take time.
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

// unlock unlocks mu after the plan was changed, and wakes Run if there is something to start before Run would
// see it.
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
