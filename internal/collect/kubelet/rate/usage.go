package rate

import "time"

// RecentIntervals is how many single intervals a ContainerUsage has.
const RecentIntervals = 3

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

// ContainerUsage is what is known of one container. Whoever sums up a pod needs
// all of them: one that is missing is not zero.
type ContainerUsage struct {
	Name string

	// CPU is the average over the longest span of whole intervals that the window holds, or over the last interval if
	// that is longer. If the query has an end, it is the average up to there; between two samples the use is taken to be
	// even.
	CPU    Interval
	HasCPU bool
	// UncountedNanoCores is for who counts CPU as a part of a longer window: what is left out of it for that. A store
	// leaves it 0.
	UncountedNanoCores int64

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
	Recent      [RecentIntervals]Interval
	RecentCount int
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

// Query asks for one pod.
type Query struct {
	Node, Namespace, Pod string
	// Window is the longest span to average over.
	Window time.Duration
	// End is when the window ends, by the node's clock; zero is the newest sample.
	End time.Time
	Now time.Time
}

// Round says what became of one scrape.
type Round struct {
	Node string
	// Containers are those that the kubelet named.
	Containers int
	// Fresh are those with a CPU sample later than the one before, new histories
	// included; Same are those whose sample was of the same instant.
	Fresh, Same int
	// Restarts counts new histories after a restart or a counter that fell,
	// ClockJumps those after a clock that was set, Gaps those after a long silence.
	Restarts, ClockJumps, Gaps int
	// Ignored are values that say nothing: see the package comment; also samples
	// without all three labels, and second ones of the same container.
	Ignored int
	// Gone are containers that were forgotten.
	Gone int
	// Newest is the time of the newest sample, by the node's clock; zero if there
	// was none.
	Newest time.Time
	// CPU is what reading the answer and taking it in cost, 0 if nobody measured it.
	CPU time.Duration
}

// Sizes says how much is remembered.
type Sizes struct{ Nodes, Pods, Containers int }
