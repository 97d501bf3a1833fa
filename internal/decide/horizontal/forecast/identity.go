package forecast

import "hash/fnv"

// Identity returns that of Settings for the names of a target and its metrics.
func Identity(names []string) uint64 {
	h := fnv.New64a()
	for _, name := range names {
		_, _ = h.Write(append([]byte(name), 0)) // it never fails
	}
	return h.Sum64()
}
