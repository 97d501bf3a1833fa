package scrape

import (
	"math"
	"time"
)

// burst is for how long what was not spent of the budget may be spent later at once, so
// that neither hashes that lie close together matter, nor a timer that wakes late where
// the budget is just enough.
const burst = time.Second / 5

// unknownCost is what a scrape is taken to cost before any has been measured: a node of
// 110 pods with two containers each.
const unknownCost = 500 * time.Microsecond

// Bound is what keeps a scrape waiting that is due.
type Bound uint8

// The bounds. Bounds is how many there are.
const (
	Unbound Bound = iota
	ByScrapes
	ByCPU
	ByConcurrency
	Bounds
)

// String is the bound's name in series.
func (b Bound) String() string { return [...]string{"none", "scrapes", "cpu", "concurrency"}[b] }

// budget is what may be spent: scrapes, and CPU, of which only what they cost before is
// known when they start. What they turn out to cost more is made up for by the next.
type budget struct {
	maxPerSecond, maxCPU float64
	// scrapes and cpuSeconds may be spent at once, counted at filled. The latter may be
	// below 0.
	scrapes, cpuSeconds float64
	filled              time.Time
	// typical is what a scrape of a target costs that has not been scraped, a moving
	// average over all targets.
	typical time.Duration
}

func newBudget(maxPerSecond, maxCPU float64) budget {
	b := budget{maxPerSecond: maxPerSecond, maxCPU: maxCPU, typical: unknownCost}
	b.scrapes, b.cpuSeconds = b.mostScrapes(), b.mostCPU()
	return b
}

// mostScrapes and mostCPU may be spent at once.
func (b *budget) mostScrapes() float64 { return max(1, b.maxPerSecond*burst.Seconds()) }
func (b *budget) mostCPU() float64     { return b.maxCPU * burst.Seconds() }

// fill adds what the time since it was last looked at allows.
func (b *budget) fill(now time.Time) {
	if elapsed := now.Sub(b.filled); elapsed > 0 {
		b.scrapes = min(b.mostScrapes(), b.scrapes+elapsed.Seconds()*b.maxPerSecond)
		b.cpuSeconds = min(b.mostCPU(), b.cpuSeconds+elapsed.Seconds()*b.maxCPU)
		b.filled = now
	}
}

// wait says how long a scrape that is likely to cost so much has to wait, and for what;
// 0 if it may begin. One that costs more than is there at most waits for that.
func (b *budget) wait(cost time.Duration) (time.Duration, Bound) {
	scrapes := (1 - b.scrapes) / b.maxPerSecond
	cpu := (min(cost.Seconds(), b.mostCPU()) - b.cpuSeconds) / b.maxCPU
	if scrapes <= 0 && cpu <= 0 {
		return 0, Unbound
	}
	bound := ByScrapes
	if cpu > scrapes {
		bound = ByCPU
	}
	// At least something, however it is rounded.
	return max(1, time.Duration(math.Ceil(max(scrapes, cpu)*float64(time.Second)))), bound
}

func (b *budget) take(cost time.Duration) {
	b.scrapes--
	b.cpuSeconds -= cost.Seconds()
}

// refund gives back what a scrape cost less than was taken for it, or takes what it cost more.
func (b *budget) refund(taken, spent time.Duration) {
	b.cpuSeconds = min(b.mostCPU(), b.cpuSeconds+(taken-spent).Seconds())
	if spent > 0 {
		b.typical += (spent - b.typical) / 64
	}
}

// likelyCost is what scraping the target is likely to cost.
func (e *entry[T]) likelyCost(typical time.Duration) time.Duration {
	if e.cost == 0 {
		return typical
	}
	return e.cost
}

// learn makes what a scrape cost a part of what the target's next one is likely to cost.
// One that failed before anything was read says nothing.
func (e *entry[T]) learn(spent time.Duration) {
	switch {
	case spent <= 0:
	case e.cost == 0:
		e.cost = spent
	default:
		e.cost += (spent - e.cost) / 4
	}
}
