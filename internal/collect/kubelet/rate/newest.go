package rate

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

// PodUse is the use of a pod's containers together, by their newest samples alone.
type PodUse struct {
	Namespace, Pod        string
	CPUMilli, MemoryMilli int64
}

// Newest appends the use of the pods of a node by the newest round, in any order. Containers without an interval count
// with their memory alone; those missing from the round do not count.
func (s *Store) Newest(nodeName string, dst []PodUse) []PodUse {
	n := s.known(nodeName)
	if n == nil {
		return dst
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, c := range n.pods {
		use := PodUse{Namespace: key.namespace, Pod: key.name}
		for ; c != nil; c = c.next {
			if c.seen != n.round {
				continue
			}
			use.CPUMilli = arithmetic.Saturate.Add(use.CPUMilli, c.newestMilliCores())
			use.MemoryMilli = arithmetic.Saturate.Add(use.MemoryMilli, min(c.memoryBytes, math.MaxInt64/1000)*1000)
		}
		dst = append(dst, use)
	}
	return dst
}

// newestMilliCores is the rate of the last interval, 0 without one.
func (c *container) newestMilliCores() int64 {
	newest, _ := c.cpu.Newest()
	return newest.MilliCores()
}
