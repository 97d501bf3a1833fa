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

	// CPU is the average over the longest span of whole intervals within the window, or over the last interval if that is
	// longer. If the window has an end, it is the average up to there; between two samples the use is assumed to be even.
	CPU    Interval
	HasCPU bool

	// MemoryBytes is the working set in the newest round.
	MemoryBytes int64
	HasMemory   bool
	// MostMemoryBytes is the highest value of the last PeakWindow, or up to twice as long, and MostMemoryAt its time. Both
	// are set if HasMemory is.
	MostMemoryBytes int64
	MostMemoryAt    time.Time

	// Refused has the impossible values of the newest round. They are missing above.
	Refused Refused

	// Recent has the last single intervals, the newest first; RecentCount is their number.
	Recent      [averaging.RecentIntervals]Interval
	RecentCount int
}

// Container has the samples of one container of a pod.
type Container struct {
	Name string
	// CPU is empty if the newest sample is too old or the node does not know the container.
	CPU Series
	// MemoryBytes is the newest working set. MostMemoryBytes is the recent maximum, at MostMemoryAt. They are 0 if
	// unknown.
	MemoryBytes, MostMemoryBytes int64
	MostMemoryAt                 time.Time
	Refused                      Refused
}

// Usage returns the container's usage over a window.
func (c *Container) Usage(w Window) Usage {
	u := Usage{Name: c.Name, MemoryBytes: c.MemoryBytes, HasMemory: c.MemoryBytes > 0, Refused: c.Refused}
	u.CPU, u.HasCPU = c.CPU.Over(w)
	u.RecentCount = c.CPU.Recent(&u.Recent)
	if u.HasMemory {
		u.MostMemoryBytes, u.MostMemoryAt = c.MostMemoryBytes, c.MostMemoryAt
	}
	return u
}

// Refused has impossible values of a container: NaN, infinite, negative.
type Refused uint8

// The resources of such values.
const (
	RefusedCPU Refused = 1 << iota
	RefusedMemory
)

// Has reports whether it includes all that other has.
func (r Refused) Has(other Refused) bool { return r&other == other }
