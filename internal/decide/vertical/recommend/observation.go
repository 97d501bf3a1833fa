package recommend

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// Observation is the input about one object and its workload.
type Observation struct {
	Lookup Lookup
	// Generation is the object's.
	Generation int64
	// Pods has the UIDs of all pods of the workload that are not pending.
	Pods []string
	// Containers has the containers of these pods, without init containers, including sidecars among these.
	Containers []Present
	// Samples has at most one sample of each container of a pod in a recommender-interval, in order of time; see
	// usage.Summary.
	Samples []Sample
	// Refused has samples that were refused earlier: one for each container and resource and reason in a
	// recommender-interval.
	Refused []Discarded
	OOMs    []OOM
	// Conflicts has the resources that horizontal autoscalers control; these are not recommended if SkipsConflicts is set.
	Conflicts      []conflict.Conflict
	SkipsConflicts bool
	// Findings has the results of checks other than of samples. The condition of a kind without a finding does not change.
	Findings []status.Finding
	// Published is the object's status; nil if it has none.
	Published *status.Published
}

// Lookup is the result of looking up the object that is scaled.
type Lookup struct {
	// Problem is why its pods cannot be determined, in upstream's text; empty if they can.
	Problem string
	// Transient is set if the lookup failed, as opposed to a wrong reference.
	Transient bool
}

// Present is a container, and the number of pods that have it.
type Present struct {
	Container string
	Pods      int
}

// Sample is the use of one container of a pod.
type Sample struct {
	Pod, Container string
	At             time.Time
	// Use lacks resources that were not measured.
	Use        vertical.Amounts
	Contention cpucontention.Shares
}

// OOM is an out-of-memory kill of a container of a pod.
type OOM struct {
	Container string
	usage.OOM
}
