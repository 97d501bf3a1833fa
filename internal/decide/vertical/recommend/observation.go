package recommend

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
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
	// Findings are what is wrong with the object beside what was measured. The condition
	// of a kind that is not among them stays as it is.
	Findings []status.Finding
	// Published is the object's status; nil if it has none.
	Published *status.Published
}

// Lookup is the result of looking up the object that is scaled.
type Lookup struct {
	// Problem is why it cannot be known which pods belong to it, in upstream's text;
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
	Contention cpucontention.Shares
}

// OOM is that a container of a pod ran out of memory.
type OOM struct {
	Container string
	usage.OOM
}
