package scrape

import (
	"math"
	"time"
)

// burst is the time for which unused budget accumulates, so that neither hashes that lie close together matter, nor a
// timer that fires late where the budget is just enough.
const burst = time.Second / 5

// unknownCost is the assumed cost of a scrape before the first measurement: a node of 110 pods with two containers
// each.
const unknownCost = 500 * time.Microsecond

// Bound is the limit that delays a scrape that is due.
type Bound uint8

// The bounds. Bounds is their number.
const (
	Unbound Bound = iota
	ByScrapes
	ByCPU
	ByConcurrency
	Bounds
)

// String returns the bound's label value in metrics.
func (b Bound) String() string { return [...]string{"none", "scrapes", "cpu", "concurrency"}[b] }

// budget is a token bucket of scrapes and of CPU. The CPU of a scrape is an estimate when it starts; later scrapes make
// up for what it cost more.
type budget struct {
	maxPerSecond, maxCPU float64
	// scrapes and cpuSeconds are the tokens as of filled. cpuSeconds may be below 0.
	scrapes, cpuSeconds float64
	filled              time.Time
	// typical is the estimated cost of a target's first scrape, a moving average over all targets.
	typical time.Duration
}

func newBudget(maxPerSecond, maxCPU float64) budget {
	b := budget{maxPerSecond: maxPerSecond, maxCPU: maxCPU, typical: unknownCost}
	b.scrapes, b.cpuSeconds = b.mostScrapes(), b.mostCPU()
	return b
}

// mostScrapes and mostCPU are the sizes of the buckets.
func (b *budget) mostScrapes() float64 { return max(1, b.maxPerSecond*burst.Seconds()) }
func (b *budget) mostCPU() float64     { return b.maxCPU * burst.Seconds() }

// fill adds the tokens for the time since filled.
func (b *budget) fill(now time.Time) {
	if elapsed := now.Sub(b.filled); elapsed > 0 {
		b.scrapes = min(b.mostScrapes(), b.scrapes+elapsed.Seconds()*b.maxPerSecond)
		b.cpuSeconds = min(b.mostCPU(), b.cpuSeconds+elapsed.Seconds()*b.maxCPU)
		b.filled = now
	}
}

// wait returns how long a scrape of this estimated cost must wait, and the bound it waits for; 0 if it may begin. One
// that costs more than the bucket holds waits until it is full.
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
	// At least 1 ns, also after rounding.
	return max(1, time.Duration(math.Ceil(max(scrapes, cpu)*float64(time.Second)))), bound
}

func (b *budget) take(cost time.Duration) {
	b.scrapes--
	b.cpuSeconds -= cost.Seconds()
}

// refund corrects the tokens by the difference of a scrape's estimated and actual cost.
func (b *budget) refund(taken, spent time.Duration) {
	b.cpuSeconds = min(b.mostCPU(), b.cpuSeconds+(taken-spent).Seconds())
	if spent > 0 {
		b.typical += (spent - b.typical) / 64
	}
}

func (e *entry[T]) likelyCost(typical time.Duration) time.Duration {
	if e.cost == 0 {
		return typical
	}
	return e.cost
}

// learn updates the target's estimate with the cost of a scrape. A scrape that failed before it read anything has no
// cost.
func (e *entry[T]) learn(spent time.Duration) {
	switch {
	case spent <= 0:
	case e.cost == 0:
		e.cost = spent
	default:
		e.cost += (spent - e.cost) / 4
	}
}
