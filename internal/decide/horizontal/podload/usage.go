package podload

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// Interval is an average between two samples.
type Interval struct {
	// End is when the later sample was taken, by the node's clock.
	End  time.Time
	Span time.Duration
	// NanoCores are nanoseconds of CPU time per second.
	NanoCores int64
}

// MilliCores rounds up, as a Quantity's MilliValue does with the nanocores of
// metrics-server.
func (i Interval) MilliCores() int64 {
	milli := i.NanoCores / 1_000_000
	if i.NanoCores%1_000_000 > 0 {
		milli++
	}
	return milli
}

// isBefore reports whether the interval ends before another, or with it and is shorter.
func (i *Interval) isBefore(end time.Time, span time.Duration) bool {
	return i.End.Before(end) || i.End.Equal(end) && i.Span < span
}

// Usage is the usage of one container. The sum of a pod needs all of its containers: a missing one is not zero.
type Usage struct {
	Name string

	// CPU is the average over the longest span of whole intervals that the window holds, or over the last interval if
	// that is longer. If the query has an end, it is the average up to there; between two samples the use is taken to be
	// even.
	CPU    Interval
	HasCPU bool

	// MemoryBytes is the working set in the newest round.
	MemoryBytes int64
	HasMemory   bool
	// MostMemoryBytes is the most of the last PeakWindow, or up to twice as long, and MostMemoryAt when it was
	// sampled. Both are set if HasMemory is.
	MostMemoryBytes int64
	MostMemoryAt    time.Time

	// Refused is what the newest round said that cannot be. It is missing above.
	Refused Refused

	// Recent are the last single intervals, the newest first; RecentCount is how
	// many of them there are.
	Recent      [averaging.RecentIntervals]Interval
	RecentCount int
}

// Container is what is known of one container of a pod.
type Container struct {
	Name string
	// CPU is empty where the newest sample is too old or its node does not know the container.
	CPU Series
	// MemoryBytes is the newest working set and MostMemoryBytes the most lately, which was at MostMemoryAt; 0 if it is not
	// known.
	MemoryBytes, MostMemoryBytes int64
	MostMemoryAt                 time.Time
	Refused                      Refused
}

// Usage returns the container's over a window.
func (c *Container) Usage(w Window) Usage {
	u := Usage{Name: c.Name, MemoryBytes: c.MemoryBytes, HasMemory: c.MemoryBytes > 0, Refused: c.Refused}
	u.CPU, u.HasCPU = c.CPU.Over(w)
	u.RecentCount = c.CPU.Recent(&u.Recent)
	if u.HasMemory {
		u.MostMemoryBytes, u.MostMemoryAt = c.MostMemoryBytes, c.MostMemoryAt
	}
	return u
}

// Refused are values of a container that cannot be: NaN, infinite, less than nothing.
type Refused uint8

// What such values are of.
const (
	RefusedCPU Refused = 1 << iota
	RefusedMemory
)

// Has reports whether all that other names is refused.
func (r Refused) Has(other Refused) bool { return r&other == other }
