package rate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

// What a store answers with is what decisions are made of.
type (
	// Interval is an average between two samples.
	Interval = podload.Interval
	// ContainerUsage is what is known of one container.
	ContainerUsage = podload.Usage
	// Refused are values of a container that cannot be.
	Refused = podload.Refused
)

// The bounds on the distance of two samples.
const (
	ShortestGap = podload.ShortestGap
	LongestGap  = podload.LongestGap
)

// What is refused of a container.
const (
	RefusedCPU    = podload.RefusedCPU
	RefusedMemory = podload.RefusedMemory
)

// Query asks for one pod.
type Query struct {
	Node, Namespace, Pod string
	// Window is the longest span to average over.
	Window time.Duration
	// End is when the window ends, by the node's clock; zero is the newest sample.
	End time.Time
	Now time.Time
	// MaxSampleAge is how long ago the newest sample of a container may have arrived; 0 is that of the store.
	MaxSampleAge time.Duration
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
