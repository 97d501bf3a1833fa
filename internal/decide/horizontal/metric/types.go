// Package metric turns the reading of one metric into a proposal: the number of replicas that the metric asks for. The
// ratio arithmetic of all metric types is here.
//
// All values are milli-units (a CPU core is 1000, a byte 1000, a request per second 1000), as in upstream's replica
// calculator (pkg/controller/podautoscaler/replica_calculator.go, v1.37.1).
package metric

import (
	"time"
	"unique"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// Phase is a pod's phase.
type Phase uint8

// The pod phases; PhaseUnknown is also what an empty phase reads as.
const (
	PhaseUnknown Phase = iota
	PhasePending
	PhaseRunning
	PhaseSucceeded
	PhaseFailed
)

// Readiness is the status of a pod's Ready condition.
type Readiness uint8

// The states of the Ready condition; NoReadiness means that the pod has none.
const (
	NoReadiness Readiness = iota
	ReadyTrue
	ReadyFalse
	ReadyUnknown
)

// Pod has the fields of a pod that a decision uses.
type Pod struct {
	Name     string
	Phase    Phase
	Deleting bool
	Ready    Readiness
	// ReadyTransition is when Ready last changed.
	ReadyTransition time.Time
	// StartTime is when the kubelet acknowledged the pod; zero if it has not.
	StartTime time.Time
	// Revision distinguishes the templates of a workload's pods; zero if its controller does not label pods with it.
	Revision Revision
}

// Revision is the name of a template, once in memory for all pods that have it.
type Revision struct{ text unique.Handle[string] }

// RevisionOf returns the Revision of this name; zero if it is empty.
func RevisionOf(name string) Revision {
	if name == "" {
		return Revision{}
	}
	return Revision{unique.Make(name)}
}

// String returns the name.
func (r Revision) String() string {
	if r == (Revision{}) {
		return ""
	}
	return r.text.Value()
}

// Sample is one pod's value of a metric. The zero value means that there is
// none: missing data is never zero.
type Sample struct {
	Present bool
	// Unsampled is set if the pod is not in the sample of pods, which stands for all.
	Unsampled bool
	// Silent is set if the pod is ready and does not respond. Milli, At and Window are then those of its last sample, so
	// that an overloaded pod does not count as idle. It is not Present.
	Silent bool
	// NoContainer says that the pod does not have the container that the metric names. It is not Present.
	NoContainer bool
	Milli       int64
	// At is the end of the window the value was measured over.
	At     time.Time
	Window time.Duration
}

// Recent has a pod's last single intervals between two scrapes each, the newest first. Those that are not Present are
// at the end.
type Recent [averaging.RecentIntervals]Sample

// Request is one pod's request of a resource, summed over the containers that
// count.
type Request struct {
	Milli int64
	// Missing is the reason for no request; RequestSet if there is one.
	Missing MissingRequest
	// Resizing is set if the pod has this request until a resize in place is done.
	Resizing bool
	// Container is the container without the request, the one not found, or the one that has the claim.
	Container string
	// Claim is the ResourceClaim that adds to the request.
	Claim string
}

// MissingRequest is the reason for which a pod has no request.
type MissingRequest uint8

// The reasons.
const (
	// RequestSet is no reason: the request is there.
	RequestSet MissingRequest = iota
	// ContainerWithoutRequest: a container that counts names no request.
	ContainerWithoutRequest
	// ContainerNotFound: the pod has no container of the wanted name.
	ContainerNotFound
	// PodWithoutRequest: pod-level requests are set, but not for this resource.
	PodWithoutRequest
	// RequestInClaim: a ResourceClaim gives the pod more of this resource than it requests.
	RequestInClaim
)

// Reading is the input for one metric.
type Reading struct {
	// Error is the error of the metrics API; empty if it returned values.
	Error string
	// Empty is set if the API returned an empty list.
	Empty bool
	// Samples are the pods' values, index for index with the pods; for metrics that
	// are per pod.
	Samples []Sample
	// Recent has the pods' last intervals, in the order of the pods, for the surge window. It may be missing.
	Recent []Recent
	// Earlier has the pods' averages up to the last moment at which all pods are known, in the order of the pods, if their
	// samples end at different moments. It may be missing.
	Earlier []Sample
	// Extraneous has the values of pods that are not among the pods (the
	// metrics API may know pods that the pod cache does not).
	Extraneous []int64
	// Requests has the pods' requests, index for index with the pods; for
	// utilization targets.
	Requests []Request
	// Series has the value of an Object or Prometheus metric (one) or the values of an
	// External or ExternalScaler metric's series (one or more).
	Series []int64
	// At is when the newest of Series was taken; zero if the API does not say.
	At time.Time
	// Asked is when the value was requested; zero if it was not.
	Asked time.Time
	// IsLeast is set if Series is only the least that the value can be: some of the pods that it is computed from have no
	// value. Incomplete says why; it is empty if they will have one within seconds.
	IsLeast    bool
	Incomplete string
	// Pending is set if there are no values yet, and a request is in progress.
	Pending bool
	// TargetMilli is the target's value if it is not in the spec.
	TargetMilli int64
	// Activity is that of an ExternalScaler, whether it has values or not.
	Activity Activity
}

// Activity says whether a source reports work for its target.
type Activity uint8

// The activities.
const (
	ActivityUnknown Activity = iota
	Active
	Inactive
)

// String names the activity as explanations print it.
func (a Activity) String() string { return [...]string{"unknown", "active", "inactive"}[a] }
