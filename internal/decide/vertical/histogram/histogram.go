// Package histogram has decaying distributions of CPU and memory use: a sample's weight halves with each half-life.
// Each bucket is larger than the last by a twentieth, as upstream's, so that checkpoints are compatible; but only
// buckets with a weight take memory. All arithmetic is upstream's, in its order, to the last bit.
package histogram

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

const (
	// Buckets is the number of buckets: the last one starts above 1000 cores, or 1 TB.
	Buckets = 176
	// epsilon is the weight below which a bucket counts as empty: a thousandth of the smallest weight of a sample.
	epsilon = 1e-4
	// maxDecayExponent is the largest number of half-lives by which samples are weighted up before the reference moves to
	// them.
	maxDecayExponent = 100
)

var (
	// growth is the ratio of a bucket's width to that of the last one. It is no constant, because upstream subtracts 1
	// from it at run time, with a result other than 0.05.
	growth = 1.05
	// vanishing is a weight that does not change a sum with a bucket that is not empty: float64 has 53 bits.
	vanishing = math.Ldexp(epsilon, -64)
	// first is the end of the first bucket: 0.01 cores, 10 MB.
	first = [vertical.Resources]float64{0.01, 1e7}
)

// Shape has the bounds of a resource's buckets, and their half-life.
type Shape struct {
	// First is the end of the first bucket, in cores or bytes.
	First    float64
	HalfLife time.Duration
}

// ShapeOf returns the shape of upstream's histograms of that resource.
func ShapeOf(r vertical.Resource, halfLife time.Duration) Shape {
	return Shape{First: first[r], HalfLife: halfLife}
}

// Find returns the bucket of a value: floor(log_growth(value*(growth-1)/first + 1)).
func (s Shape) Find(value float64) uint64 {
	if value < s.First {
		return 0
	}
	bucket := math.Log(value*(growth-1)/s.First+1) / math.Log(growth)
	if bucket >= Buckets {
		return Buckets - 1
	}
	return uint64(bucket)
}

// Start returns the least value of a bucket: first * (growth^bucket - 1)/(growth - 1).
func (s Shape) Start(bucket uint64) float64 {
	if bucket == 0 {
		return 0
	}
	return s.First * (math.Pow(growth, float64(bucket)) - 1) / (growth - 1)
}

// Max returns the largest value that a percentile can have.
func (s Shape) Max() float64 { return s.Start(Buckets - 1) }

// Histogram is the distribution of weight over buckets. The zero value is empty. All of its samples must have been
// added with the same Shape.
type Histogram struct {
	cells cells
	// total is the weight of all samples, including those of empty buckets.
	total float64
	// reference is the time at which a sample has its own weight: later samples weigh more.
	reference vertical.Stamp
}

// Add adds a sample of that weight.
func (h *Histogram) Add(s Shape, value, weight float64, at time.Time) {
	weight *= h.decay(s, at)
	h.plus(s.Find(value), weight)
	h.total += float64(weight)
}

// Subtract removes a sample that was added. A remainder below epsilon becomes zero.
func (h *Histogram) Subtract(s Shape, value, weight float64, at time.Time) {
	weight *= h.decay(s, at)
	h.total = subtract(h.total, float64(weight))
	if i, found := h.cells.find(s.Find(value)); found {
		h.cells.setWeight(i, subtract(h.cells.weight(i), float64(weight)))
		h.cells = h.cells.keep(func(weight float64) bool { return weight > 0 })
	}
}

func subtract(weight, less float64) float64 {
	weight -= less
	if weight < epsilon {
		return 0
	}
	return weight
}

func (h *Histogram) plus(bucket uint64, weight float64) {
	if i, found := h.cells.find(bucket); found {
		h.cells.setWeight(i, h.cells.weight(i)+float64(weight))
	} else {
		h.cells = h.cells.insert(i, bucket, weight)
	}
}

// Merge adds the samples of other, which it does not change. It first moves the older of the two to the other's
// reference.
func (h *Histogram) Merge(s Shape, other *Histogram) {
	switch {
	case h.reference.Before(other.reference):
		h.shift(s, other.reference.Time())
	case other.reference.Before(h.reference):
		aligned := other.Clone()
		aligned.shift(s, h.reference.Time())
		other = &aligned
	}
	for low, high := other.span(); low <= high; low++ {
		h.plus(other.cells.bucket(low), other.cells.weight(low))
	}
	h.total += other.total
}

// Align moves the histogram to the other's reference, if that is later. Buckets whose weight becomes too small no
// longer count.
func (h *Histogram) Align(s Shape, other *Histogram) {
	if h.reference.Before(other.reference) {
		h.shift(s, other.reference.Time())
	}
}

// Percentile returns the end of the bucket in which that fraction of the weight is reached, or the start of the last
// bucket; 0 if the histogram is empty.
func (h *Histogram) Percentile(s Shape, percentile float64) float64 {
	low, high := h.span()
	if low > high {
		return 0
	}
	sum, threshold := 0.0, percentile*h.total
	for ; low < high; low++ {
		if sum += h.cells.weight(low); sum >= threshold {
			break
		}
	}
	return s.Start(min(h.cells.bucket(low)+1, Buckets-1))
}

// IsEmpty reports whether no bucket has enough weight to count.
func (h *Histogram) IsEmpty() bool {
	low, high := h.span()
	return low > high
}

// Filled returns the number of buckets with a weight.
func (h *Histogram) Filled() int { return h.cells.len() }

// Reference returns the time at which a sample has its own weight; the zero time before the first.
func (h *Histogram) Reference() time.Time { return h.reference.Time() }

// Clone shares nothing with h.
func (h *Histogram) Clone() Histogram {
	return Histogram{cells: h.cells.clone(), total: h.total, reference: h.reference}
}

// span returns the first and last of the cells that count; without any, the first is after the last.
func (h *Histogram) span() (low, high int) {
	high = h.cells.len() - 1
	for low <= high && h.cells.weight(low) < epsilon {
		low++
	}
	for low <= high && h.cells.weight(high) < epsilon {
		high--
	}
	return low, high
}

// decay returns 2^((at - reference)/half-life).
func (h *Histogram) decay(s Shape, at time.Time) float64 {
	reference := h.reference.Time()
	if h.reference.IsZero() || at.After(reference.Add(time.Duration(int64(s.HalfLife)*maxDecayExponent))) {
		h.shift(s, at)
		reference = h.reference.Time()
	}
	return math.Exp2(float64(at.Sub(reference)) / float64(s.HalfLife))
}

// shift moves the reference to a multiple of the half-life near that time. As upstream, it scales the total and only
// the buckets that count, and drops those that have vanished.
func (h *Histogram) shift(s Shape, to time.Time) {
	to = to.Round(s.HalfLife)
	factor := 0.0
	if !h.reference.IsZero() {
		factor = math.Ldexp(1, round(float64(h.reference.Time().Sub(to))/float64(s.HalfLife)))
	}
	for low, high := h.span(); low <= high; low++ {
		h.cells.setWeight(low, h.cells.weight(low)*factor)
	}
	h.cells = h.cells.keep(func(weight float64) bool { return weight >= vanishing })
	h.total *= factor
	h.reference = vertical.StampOf(to)
}

func round(x float64) int { return int(math.Floor(x + 0.5)) }
