package usage

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
)

// weights has the weight of a sample: of CPU, with samples every minute, and of memory peaks.
var weights = [vertical.Resources]float64{0.1, 1}

// units has the size of a histogram's unit in units of amounts: thousandths of a core, and bytes.
var units = [vertical.Resources]float64{1000, 1}

// UnitsOf returns the size of the histogram's unit in units of amounts.
func UnitsOf(r vertical.Resource) float64 { return units[r] }

// Aggregate is the use of the containers of one name. As upstream, only CPU samples are counted and move its times.
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

// count adds a CPU sample to the count and the times.
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

// Percentile returns the amount of a resource that this share of samples did not exceed; false without samples.
func (a *Aggregate) Percentile(p *Policy, r vertical.Resource, share float64) (amount vertical.Amount, ok bool) {
	h := a.use.Get(r)
	return vertical.AmountOf(h.Percentile(p.shape(r), share) * units[r]), !h.IsEmpty()
}

// Samples returns the number of CPU samples.
func (a *Aggregate) Samples() int { return a.samples }

// Confidence returns the confidence in the history: with one sample a minute it is the length of the history in
// intervals. The formula is upstream's:
//
//	min((last - first)/interval, samples/minutes of the interval)
func (a *Aggregate) Confidence(interval time.Duration) float64 {
	return math.Min(float64(a.last.Sub(a.first))/float64(interval), float64(a.samples)/interval.Minutes())
}
