package priority

import "slices"

// Rotate puts workloads in order, beginning after the one where the last pass
// ended: under a rate limit, each has its turn. (Upstream takes them as its map
// gives them.)
func Rotate(keys []string, last string) []string {
	sorted := slices.Sorted(slices.Values(keys))
	at, found := slices.BinarySearch(sorted, last)
	if found {
		at++
	}
	return slices.Concat(sorted[at:], sorted[:at])
}
