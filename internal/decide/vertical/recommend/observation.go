package recommend

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// Observation is what is seen of one object and its workload.
type Observation struct {
	Lookup Lookup
	// Generation is the object's.
	Generation int64
	// Pods are all that belong to the workload and are not pending, by UID.
	Pods []string
	// Containers are those of these pods. Init containers do not count, nor do sidecars
	// among them.
	Containers []Present
	// Samples are at most one of each container of a pod in a recommender-interval, in
	// order of time; see usage.Summary.
	Samples []Sample
	// Refused are samples that never came so far: one for each container and resource
	// and reason in a recommender-interval.
	Refused []Discarded
	OOMs    []OOM
	// Conflicts are what horizontal autoscalers control; they are left alone if
	// SkipsConflicts.
	Conflicts      []conflict.Conflict
	SkipsConflicts bool
	// Published is the object's status; nil if it has none.
	Published *Published
}

// Lookup is what came of looking up the object that is scaled.
type Lookup struct {
	// Problem is why it cannot be known which pods belong to it, in upstream's words;
	// empty if it can.
	Problem string
	// Transient is set where looking it up failed, not where it is wrong.
	Transient bool
}

// Present is a container that so many pods have.
type Present struct {
	Container string
	Pods      int
}

// Sample is what one container of a pod used.
type Sample struct {
	Pod, Container string
	At             time.Time
	// Use lacks what was not measured.
	Use        vertical.Amounts
	Contention Contention
}

// Contention is what usage cannot show: how much CPU a container would have used
// if it had got it. Where it is not known, zeros say so: on cgroup v1 there is no
// pressure.
//
// As demand, it raises the sample of CPU:
//
//	demand = usage * (1 + max(throttled, pressure))
//
// A container that is throttled in each period used all that its limit gives, and
// no counter says how much more it wanted; at most twice as much is taken for it.
// The request rises with that, its limit with it, and the next samples tell more.
type Contention struct {
	// Throttled is the share of CFS periods in which the limit stopped the container.
	Throttled float64
	// Pressure is the share of time in which some of its tasks waited for a CPU.
	Pressure float64
}

// factor is by how much demand is above usage.
func (c Contention) factor() float64 {
	return 1 + min(1, max(0, share(c.Throttled), share(c.Pressure)))
}

func share(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// OOM is that a container of a pod ran out of memory.
type OOM struct {
	Container string
	usage.OOM
}

// Published is what the object's status says.
type Published struct {
	Generation      int64
	Recommendations []vertical.Recommendation
	Conditions      []Condition
}

// Condition is one of the object's conditions.
type Condition struct {
	Type, Status, Reason, Message string
	// Since is when it got its status.
	Since time.Time
}

// isTrue reports whether the status says so of the condition.
func (p *Published) isTrue(condition string) bool {
	if p == nil {
		return false
	}
	for i := range p.Conditions {
		if p.Conditions[i].Type == condition {
			return p.Conditions[i].Status == statusTrue
		}
	}
	return false
}
