package rate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

// The results of a store have the types that decisions use.
type (
	// Interval is an average between two samples.
	Interval = podload.Interval
	// ContainerUsage is the usage of one container.
	ContainerUsage = podload.Usage
	// Refused are values of a container that cannot be.
	Refused = podload.Refused
)

// The bounds on the distance of two samples.
const (
	ShortestGap = podload.ShortestGap
	LongestGap  = podload.LongestGap
)

// The values of a container that can be refused.
const (
	RefusedCPU    = podload.RefusedCPU
	RefusedMemory = podload.RefusedMemory
)

// Query selects one pod.
type Query struct {
	Node, Namespace, Pod string
	// Window is the longest span to average over.
	Window time.Duration
	// End is the end of the window, by the node's clock; zero is the newest sample.
	End time.Time
	Now time.Time
	// MaxSampleAge is the longest time since the newest sample of a container arrived; 0 is that of the store.
	MaxSampleAge time.Duration
}

// Round describes the effect of one scrape.
type Round struct {
	Node string
	// Containers counts the containers in the response.
	Containers int
	// Fresh counts those with a CPU sample later than the one before, new histories included; Same those whose sample was
	// of the same instant.
	Fresh, Same int
	// Restarts counts new histories after a restart or a counter that fell, ClockJumps those after a clock that was set,
	// Gaps those after a long silence.
	Restarts, ClockJumps, Gaps int
	// Ignored counts values that count as missing: see the package comment; also samples without all three labels, and
	// second ones of the same container.
	Ignored int
	// Gone are containers that were forgotten.
	Gone int
	// Newest is the time of the newest sample, by the node's clock; zero without one.
	Newest time.Time
	// CPU is the CPU time for reading and ingesting the response, 0 if it was not measured.
	CPU time.Duration
}

// Sizes counts the contents of a Store.
type Sizes struct{ Nodes, Pods, Containers int }
