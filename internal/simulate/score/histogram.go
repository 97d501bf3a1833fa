package score

import "math"

// histogram counts requests by how long they took, in bins that are each 5 % wider
// than the one before.
type histogram struct {
	bins  []float64
	total float64
	// lastSeconds are in lastBin: pods that share a load take equally long, and a logarithm is dear.
	lastSeconds float64
	lastBin     int
}

const (
	// shortest is where the first bin ends, growth the ratio of two bins.
	shortest = 1e-4
	growth   = 1.05
	bins     = 340 // up to 1600 s
)

var logGrowth = math.Log(growth)

func (h *histogram) init() { h.bins = make([]float64, bins) }

func (h *histogram) add(requests, seconds float64) {
	if seconds != h.lastSeconds {
		h.lastSeconds, h.lastBin = seconds, binOf(seconds)
	}
	h.bins[h.lastBin] += requests
	h.total += requests
}

func binOf(seconds float64) int {
	if seconds <= shortest {
		return 0
	}
	return min(bins-1, int(math.Log(seconds/shortest)/logGrowth)+1)
}

// quantile is the middle of the bin in which it lies.
func (h *histogram) quantile(q float64) float64 {
	left := q * h.total
	for i, n := range h.bins {
		if left -= n; left <= 0 && n > 0 {
			return shortest * math.Pow(growth, float64(i)-0.5)
		}
	}
	return 0
}
