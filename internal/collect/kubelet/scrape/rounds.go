package scrape

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
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

// Config says whom to scrape how, and how often. What is zero becomes the default.
type Config struct {
	// Scrape asks one kubelet, and ends with ctx. It is called by many goroutines,
	// for each node by one at a time. It says how much CPU that cost, 0 if none worth
	// counting.
	Scrape func(ctx context.Context, target kubelet.Target) (cpu time.Duration, err error)
	// Forget, if it is not nil, is told of nodes that have left the set and are not
	// being scraped any more.
	Forget func(node string)
	// Changed, if it is not nil, is told when a node begins or ceases to fail. It
	// may be told late; what holds is what State says.
	Changed func(State)

	// Period is how often each node is scraped.
	Period time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: how many scrapes begin in
	// a second, how much CPU they may cost, in cores, and how many are under way. A
	// scrape that has taken longer than SlowAfter leaves its place to another; of those
	// there are at most slowPerSlot for each place.
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	SlowAfter     time.Duration
	// UrgentGap is how long after its last scrape's beginning an urgent node may be
	// scraped again.
	UrgentGap time.Duration
	// MaxBackoff is how long a node that fails is left alone at most.
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

// Rounds scrapes a set of nodes while Run runs.
type Rounds struct {
	config Config
	// wake has an element when there may be something to start.
	wake chan struct{}

	// mu guards the following.
	mu     sync.Mutex
	plan   *plan
	totals Totals
}

// New checks the configuration. It starts nothing.
func New(config Config) (*Rounds, error) {
	if config.Scrape == nil {
		return nil, errors.New("rounds of kubelets need a way to scrape")
	}
	config = config.withDefaults()
	if min(config.Period, config.SlowAfter, config.UrgentGap) < 0 || min(config.MaxPerSecond, config.MaxCPU) < 0 ||
		config.MaxConcurrent < 0 ||
		config.MaxBackoff < config.Period {
		return nil, fmt.Errorf("rounds of kubelets: period %s, at most %g scrapes a second, %g cores and %d at a time, "+
			"slow after %s, urgent after %s, "+
			"backoff up to %s: none may be negative, nor the backoff shorter than the period",
			config.Period, config.MaxPerSecond, config.MaxCPU, config.MaxConcurrent, config.SlowAfter, config.UrgentGap,
			config.MaxBackoff)
	}
	return &Rounds{config: config, wake: make(chan struct{}, 1), plan: newPlan(config)}, nil
}

func (c Config) withDefaults() Config {
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

// Set makes these the nodes to scrape: new ones are scraped within a period,
// known ones keep their state, also where their address is another.
func (r *Rounds) Set(targets []kubelet.Target) {
	r.mu.Lock()
	gone := r.plan.set(time.Now(), targets)
	r.mu.Unlock()
	for _, node := range gone {
		r.forget(node)
	}
	r.poke()
}

// Urgent asks for a scrape of these nodes before all others, once. It does nothing
// for nodes that are not in the set, and for those that fail.
func (r *Rounds) Urgent(nodes ...string) {
	r.mu.Lock()
	now := time.Now()
	for _, node := range nodes {
		r.plan.mark(now, node)
	}
	r.mu.Unlock()
	r.poke()
}

// State tells how a node's scrapes go; false if it is not in the set.
func (r *Rounds) State(node string) (State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.plan.nodes[node]
	if e == nil || e.isGone {
		return State{}, false
	}
	return e.state, true
}

// Totals counts scrapes that have ended.
func (r *Rounds) Totals() Totals {
	r.mu.Lock()
	defer r.mu.Unlock()
	totals := r.totals
	totals.Held = r.plan.held
	return totals
}

// Run scrapes until ctx ends, and returns when no scrape is under way any more.
func (r *Rounds) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		scrape, wait := r.start(ctx)
		if scrape != nil {
			running.Go(scrape)
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

// start is the scrape that begins now. Otherwise it says how long to wait, as plan does.
func (r *Rounds) start(ctx context.Context) (scrape func(), wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, cancelled, wait := r.plan.next(time.Now())
	for _, other := range cancelled {
		other.cancel(errCancelled)
	}
	if e == nil {
		return nil, wait
	}
	own, cancel := context.WithCancelCause(ctx)
	e.cancel = cancel
	target := e.state.Target
	return func() {
		defer cancel(nil)
		spent, err := r.config.Scrape(own, target)
		if ctx.Err() != nil {
			return // nothing starts any more, and the node did not fail
		}
		if err != nil && errors.Is(context.Cause(own), errCancelled) {
			err = fmt.Errorf("kubelet of node %s at %s: %w", target.Node, target.Address, errCancelled)
		}
		r.end(e, spent, err)
	}, 0
}

// errCancelled is why a scrape that was cancelled failed.
var errCancelled = errors.New("no answer yet, and too many other kubelets that do not answer")

// end takes in how a scrape ended.
func (r *Rounds) end(e *entry, spent time.Duration, err error) {
	r.mu.Lock()
	r.totals.Scrapes++
	r.totals.CPU += spent
	if err != nil {
		r.totals.Failures++
	}
	isGone, isChanged := r.plan.done(time.Now(), e, spent, err)
	state := e.state
	r.mu.Unlock()
	if isGone {
		r.forget(state.Target.Node)
	}
	if isChanged && r.config.Changed != nil {
		r.config.Changed(state)
	}
	r.poke()
}

func (r *Rounds) forget(node string) {
	if r.config.Forget != nil {
		r.config.Forget(node)
	}
}

func (r *Rounds) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
