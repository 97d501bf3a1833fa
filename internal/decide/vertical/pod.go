package vertical

import (
	"slices"
	"time"
)

// Pod is what vertical decisions use of a pod.
type Pod struct {
	UID, Namespace, Name string
	Generation           int64
	// Creator names the controller that made the pod, as Kind/Name: a ReplicaSet,
	// not its Deployment. It is empty without one.
	Creator string
	// Node is where it runs; empty while it waits for a node.
	Node string
	// Created is when the object came to be; Started when a kubelet took it on,
	// zero before.
	Created, Started time.Time
	// Pending is the phase in which not all containers have been started.
	Pending bool
	Ready   bool
	// ReadySince is when Ready last changed.
	ReadySince time.Time
	Containers []PodContainer
	// Observed are the containers that admission saw, if HasObserved: others were
	// injected after it and are not ours.
	Observed    []string
	HasObserved bool
	// Resize is how far the kubelet is with a change of resources, and ResizeSince
	// since when. ResizeGeneration is the generation that the kubelet says this about; 0
	// if it does not say.
	Resize           ResizeStatus
	ResizeSince      time.Time
	ResizeGeneration int64
	// Admitted reports that admission gave the pod its resources; Resized is when the
	// updater last changed them, zero if it did not.
	Admitted bool
	Resized  time.Time
	// Refused reports that admission left the pod as it was, as the API server would have
	// refused it otherwise.
	Refused bool
	// Whole is what the pod as a whole requests and may use, where that is set
	// beside its containers.
	Whole Resized
	// InitContainers are in the pod's order.
	InitContainers InitContainers
	// Overhead is what the pod takes of its node beside its containers.
	Overhead Amounts
	// QoS is the class that the pod was given when it was created.
	QoS QoS
}

// PodContainer is a container of a pod. Init containers are not among them.
type PodContainer struct {
	Name string
	// Requests and Limits are what the kubelet has given the container, or the spec's
	// where it does not say.
	Requests, Limits Amounts
	// Spec is what the pod's spec says: what was asked for last.
	Spec Resized
	// Restarts says which resources cannot change without a restart.
	Restarts [Resources]bool
	// Crashed is how the container last ended, if it did.
	Crashed Termination
	// Waiting reports that the kubelet delays its restart after it ended too often.
	Waiting bool
	// FixedHeap reports that the program decides at its start how much memory it
	// will use.
	FixedHeap bool
	// Boosted has what the container was given before its start-up boost.
	Boosted *Resized
}

// Termination is how a container ended; the zero value is one that never did.
type Termination struct {
	Started, Finished time.Time
	OutOfMemory       bool
	// Failed reports an end with an error.
	Failed bool
}

// Ended reports whether there is a termination at all.
func (t Termination) Ended() bool { return !t.Finished.IsZero() }

// IsObserved reports whether a container counts: admission saw it, or what
// admission saw is unknown.
func (p *Pod) IsObserved(container string) bool {
	if !p.HasObserved {
		return true
	}
	for _, name := range p.Observed {
		if name == container {
			return true
		}
	}
	return false
}

// HasOlderResize reports that the kubelet says how far an older change is, and nothing yet
// of what is asked for now.
func (p *Pod) HasOlderResize() bool {
	return p.Resize != ResizeNone && p.ResizeGeneration != 0 && p.ResizeGeneration < p.Generation
}

// IsBoosted reports whether a container still has its start-up boost.
func (p *Pod) IsBoosted() bool {
	for i := range p.Containers {
		if p.Containers[i].Boosted != nil {
			return true
		}
	}
	return false
}

// ResizeStatus is how far a kubelet is with a change of a pod's resources, as
// the pod's conditions PodResizePending and PodResizeInProgress say.
type ResizeStatus uint8

// The states.
const (
	// ResizeNone: nothing is under way.
	ResizeNone ResizeStatus = iota
	// ResizeDeferred: the node has no room now; the kubelet tries again.
	ResizeDeferred
	// ResizeInfeasible: this node never can; the kubelet gave up.
	ResizeInfeasible
	// ResizeInProgress: it is being done.
	ResizeInProgress
	// ResizeError: it is being done and something went wrong; the kubelet tries again.
	ResizeError
	// ResizeUnknown: a condition with an unknown reason.
	ResizeUnknown
)

var resizeStatuses = [...]string{"None", "Deferred", "Infeasible", "InProgress", "Error", "Unknown"}

// String returns the conditions' name.
func (s ResizeStatus) String() string { return resizeStatuses[s] }

// Scheduled returns the pods that are on a node.
func Scheduled(pods []Pod) []Pod {
	waits := func(p Pod) bool { return p.Node == "" }
	if !slices.ContainsFunc(pods, waits) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), waits)
}

// RecommendationOf returns the container's recommendation.
func RecommendationOf(all []Recommendation, container string) (*Recommendation, bool) {
	for i := range all {
		if all[i].Container == container {
			return &all[i], true
		}
	}
	return nil, false
}
