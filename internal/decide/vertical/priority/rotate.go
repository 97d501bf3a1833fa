package priority

import "slices"

// Rotate sorts workloads, starting after the one at which the last pass was stopped: with a rate limit, each gets its
// turn. (Upstream uses the order of its map.)
func Rotate(keys []string, last string) []string {
	sorted := slices.Sorted(slices.Values(keys))
	at, found := slices.BinarySearch(sorted, last)
	if found {
		at++
	}
	return slices.Concat(sorted[at:], sorted[:at])
}
