package podendpoint

import (
	"slices"
	"time"
)

// A page is costly above costlyFactor times the median cost.
const costlyFactor = 4

// capCostly returns how many pods of each page may be scraped. Pages that cost no more than a few times the median may
// have all of theirs. The others get at most an equal part of the CPU, so that large pages make their own samples
// small, not those of others.
func capCostly(pods []int, costs []time.Duration, cpu time.Duration) []int {
	capped := slices.Clone(pods)
	median := medianOf(costs)
	part := cpu / time.Duration(max(1, len(pods)))
	for i, cost := range costs {
		if median > 0 && cost > costlyFactor*median {
			capped[i] = min(pods[i], max(1, int(part/cost)))
		}
	}
	return capped
}

func medianOf(costs []time.Duration) time.Duration {
	known := make([]time.Duration, 0, len(costs))
	for _, cost := range costs {
		if cost > 0 {
			known = append(known, cost)
		}
	}
	if len(known) == 0 {
		return 0
	}
	slices.Sort(known)
	return known[len(known)/2]
}
