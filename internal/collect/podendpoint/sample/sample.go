// Package sample chooses the pods to scrape where there are too many to scrape all: how many of each object, and which
// of them now. It is pure; the time is a parameter.
//
// A pod stays in the sample for [Stay], because a rate needs several pages of one pod. The sample then moves on by one
// pod, so that every pod is in it from time to time. Pods that come and go leave the others where they are.
package sample

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

const (
	// Stay is how long a pod is in the sample: two stable windows.
	Stay = 2 * averaging.StableWindow
	// MaxStretch is the factor by which the interval grows before samples become smaller than Least: at one page a second,
	// a rate over the shortest window still has two pages.
	MaxStretch = 5
)

// Least is how many of an object's pods are sampled at least, as Knative's autoscaler has it
// (knative/serving at 98e5ef90aa, pkg/autoscaler/metrics/sample_size.go): for N pods
//
//	n = N                    up to 3 pods
//	n = ⌈N·X / (N + X - 1)⌉  beyond, X = C²·σ² / MOE²
//
// the size of a sample of a finite population, with C = 1.96 for a confidence of 95 %,
// σ² = 100 and a margin of error of 5: the mean is within half a standard deviation. It is
// never more than 16.
func Least(pods int) int {
	const x = 1.96 * 1.96 * 100 / (5 * 5)
	if pods <= 3 {
		return max(pods, 0)
	}
	n := float64(pods)
	return int(math.Ceil(n * x / (n + x - 1)))
}

// Ahead is the number of pods to scrape that will be in the sample next, so that they have a history of
// averaging.ShortestWindow by then.
func Ahead(size int) int {
	return int((time.Duration(size)*averaging.ShortestWindow + Stay - 1) / Stay)
}

// Scraped is the number of pods to scrape for a sample.
func Scraped(pods, size int) int { return min(pods, size+Ahead(size)) }

// Sizes returns how many pods of each object to sample so that at most budget pods are scraped in one interval, and the
// factor by which to stretch that interval.
//
// Small objects are sampled as a whole, large ones by the same number of pods, at least by Least. If that is too much,
// the interval is stretched up to MaxStretch times. If that is not enough, the samples become smaller, but not less
// than one pod. Beyond that the interval is stretched further.
func Sizes(pods []int, budget int) (sizes []int, stretch float64) {
	budget = max(budget, 1)
	size := func(limit int) func(n int) int {
		return func(n int) int { return whole(n, max(Least(n), limit)) }
	}
	largest := 0
	if len(pods) > 0 {
		largest = max(slices.Max(pods), 0)
	}
	if need := cost(pods, size(0)); need > budget {
		stretch = float64(need) / float64(budget)
		if stretch <= MaxStretch {
			return apply(pods, size(0)), stretch
		}
		size = func(limit int) func(n int) int {
			return func(n int) int { return whole(n, max(min(Least(n), limit), 1)) }
		}
		budget *= MaxStretch
		need = cost(pods, size(1))
		if need >= budget {
			return apply(pods, size(1)), float64(need) / float64(budget) * MaxStretch
		}
		stretch = MaxStretch
	}
	// The largest limit that the budget allows.
	tooLarge := func(limit int) bool { return cost(pods, size(limit)) > budget }
	low, high := 0, largest+1
	for high-low > 1 {
		if middle := low + (high-low)/2; tooLarge(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return apply(pods, size(low)), max(stretch, 1)
}

// whole is all pods where a sample would scrape all of them.
func whole(pods, size int) int {
	if pods <= 0 || size+Ahead(size) >= pods {
		return max(pods, 0)
	}
	return size
}

func cost(pods []int, size func(n int) int) int {
	sum := 0
	for _, n := range pods {
		if n > 0 {
			sum += Scraped(n, size(n))
		}
	}
	return sum
}

func apply(pods []int, size func(n int) int) []int {
	sizes := make([]int, len(pods))
	for i, n := range pods {
		sizes[i] = size(n)
	}
	return sizes
}

// Circle has the start of an object's sample: its pods are on a circle, in the order of their UIDs' hashes, and the
// sample is a run of consecutive pods from there. The zero value starts anywhere.
type Circle struct {
	start uint64
	moved time.Time
}

// Choose appends the indices of the pods to scrape to dst: the first size of them are the sample, the others, as many
// as Ahead, are the next ones. The pods are given by hashes of their UIDs, all of which differ.
func (c *Circle) Choose(now time.Time, uids []uint64, size int, dst []int) []int {
	from := len(dst)
	for i := range uids {
		dst = append(dst, i)
	}
	chosen := dst[from:]
	if size <= 0 {
		return dst[:from]
	}
	// The distance on the circle, which overflows where it should.
	slices.SortFunc(chosen, func(a, b int) int { return cmp.Compare(uids[a]-c.start, uids[b]-c.start) })
	steps := c.steps(now, size, len(uids))
	rotate(chosen, steps)
	if steps > 0 {
		c.start = uids[chosen[0]]
	}
	return dst[:from+Scraped(len(uids), size)]
}

// steps returns by how many pods the sample moves on now: by one after a pause as long as a pod stays, which leaves no
// history to keep.
func (c *Circle) steps(now time.Time, size, pods int) int {
	step := Stay / time.Duration(size)
	since := now.Sub(c.moved)
	if size >= pods || since < 0 {
		c.moved = now
		return 0
	}
	if since >= Stay {
		c.moved = now
		return 1
	}
	n := int(since / step)
	c.moved = c.moved.Add(time.Duration(n) * step)
	return min(n, pods-1)
}

func rotate(indices []int, n int) {
	slices.Reverse(indices[:n])
	slices.Reverse(indices[n:])
	slices.Reverse(indices)
}
