package usage

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
)

// weights is what a sample weighs: one of CPU, which come by the minute, and a
// peak of memory.
var weights = [vertical.Resources]float64{0.1, 1}

// units is how many units of amounts one of the histogram is: thousandths of a
// core, and bytes.
var units = [vertical.Resources]float64{1000, 1}

// UnitsOf returns how many units of amounts one of the resource's histogram is.
func UnitsOf(r vertical.Resource) float64 { return units[r] }

// Aggregate is what containers of one name used. Only CPU samples are counted and
// move its times, as upstream has it.
type Aggregate struct {
	use         histogram.Packed
	first, last vertical.Stamp
	samples     int
}

func (a *Aggregate) add(p *Policy, r vertical.Resource, amount vertical.Amount, at time.Time) {
	h := a.use.Get(r)
	h.Add(p.shape(r), float64(amount)/units[r], weights[r], at)
	a.use.Put(r, h)
}

func (a *Aggregate) subtract(p *Policy, r vertical.Resource, amount vertical.Amount, at time.Time) {
	h := a.use.Get(r)
	h.Subtract(p.shape(r), float64(amount)/units[r], weights[r], at)
	a.use.Put(r, h)
}

// count takes a CPU sample into the times.
func (a *Aggregate) count(at vertical.Stamp) {
	a.last = max(a.last, at)
	if a.first.IsZero() || at.Before(a.first) {
		a.first = at
	}
	a.samples++
}

func (a *Aggregate) merge(p *Policy, other *Aggregate) {
	for r := range vertical.Resource(vertical.Resources) {
		h, o := a.use.Get(r), other.use.Get(r)
		h.Merge(p.shape(r), &o)
		a.use.Put(r, h)
	}
	if a.first.IsZero() || !other.first.IsZero() && other.first.Before(a.first) {
		a.first = other.first
	}
	a.last = max(a.last, other.last)
	a.samples += other.samples
}

func (a *Aggregate) clone() Aggregate {
	copied := *a
	copied.use = a.use.Clone()
	return copied
}

// Percentile returns that much of a resource that its share of samples stayed below, and whether there are any.
func (a *Aggregate) Percentile(p *Policy, r vertical.Resource, share float64) (amount vertical.Amount, ok bool) {
	h := a.use.Get(r)
	return vertical.AmountOf(h.Percentile(p.shape(r), share) * units[r]), !h.IsEmpty()
}

// Samples returns how many CPU samples there are.
func (a *Aggregate) Samples() int { return a.samples }

// Confidence says how far the history can be trusted: with one sample a minute it
// is how many intervals it goes back. The formula is upstream's:
//
//	min((last - first)/interval, samples/minutes of the interval)
func (a *Aggregate) Confidence(interval time.Duration) float64 {
	return math.Min(float64(a.last.Sub(a.first))/float64(interval), float64(a.samples)/interval.Minutes())
}
