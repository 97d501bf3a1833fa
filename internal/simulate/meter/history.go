package meter

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

// History has Plimsoll's samples of one container, from a kubelet or an agent.
type History struct {
	container podload.Container
	// arrived is when the newest sample was read.
	arrived time.Duration
}

// Read records what was answered, and reports whether it is new: a kubelet answers with the same sample until it has
// another.
func (h *History) Read(epoch time.Time, now time.Duration, r Reading) (isNew bool) {
	c, at, nanos := &h.container, epoch.Add(r.At).UnixMilli(), int64(r.CPUSeconds*1e9)
	gap := time.Duration(at-c.CPU.NewestMillis()) * time.Millisecond
	switch {
	case c.CPU.Len() == 0, gap > podload.LongestGap, nanos < c.CPU.NewestNanos():
		c.CPU.Begin(at, nanos)
	case gap < podload.ShortestGap:
		return false
	default:
		c.CPU.Add(at, nanos, averaging.Reach.Milliseconds())
	}
	c.MemoryBytes = max(1, int64(r.MemoryBytes))
	h.arrived = now
	return true
}

// Container returns its usage; empty if the newest sample is too old.
func (h *History) Container(name string, now, maxAge time.Duration) podload.Container {
	if now-h.arrived > maxAge {
		return podload.Container{Name: name}
	}
	c := h.container
	c.Name = name
	return c
}

// Newest is the newest interval and the newest memory; 0 where there is none.
func (h *History) Newest() (cpuMilli, memoryMilli int64) {
	newest, _ := h.container.CPU.Newest()
	return newest.MilliCores(), h.container.MemoryBytes * 1000
}
