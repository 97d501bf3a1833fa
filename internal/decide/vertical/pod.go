package vertical

import (
	"slices"
	"time"
)

// Pod has the fields of a pod that vertical decisions use.
type Pod struct {
	UID, Namespace, Name string
	Generation           int64
	// Creator is the controller of the pod, as Kind/Name: a ReplicaSet, not its Deployment. It is empty without one.
	Creator string
	// Node is the pod's node; empty until it has one.
	Node string
	// Created is when the object was created; Started when a kubelet accepted it, zero before.
	Created, Started time.Time
	// Pending is set in the phase in which not all containers have been started.
	Pending bool
	Ready   bool
	// ReadySince is when Ready last changed.
	ReadySince time.Time
	Containers []PodContainer
	// Observed has the containers that admission saw, if HasObserved is set: others were injected later and are not
	// controlled.
	Observed    []string
	HasObserved bool
	// Resize is the kubelet's progress with a change of resources, and ResizeSince since when it has been that.
	// ResizeGeneration is the generation that the progress is about; 0 if unknown.
	Resize           ResizeStatus
	ResizeSince      time.Time
	ResizeGeneration int64
	// Admitted is set if admission set the pod's resources; Resized is when the updater last changed them, zero if it did
	// not.
	Admitted bool
	Resized  time.Time
	// Refused is set if admission did not change the pod, because the API server would have refused it otherwise.
	Refused bool
	// Whole has the requests and limits of the pod as a whole, if these are set beside its containers'.
	Whole Resized
	// InitContainers are in the pod's order.
	InitContainers InitContainers
	// Overhead has the resources that the pod uses on its node beside its containers.
	Overhead Amounts
	// QoS is the class that the pod was given when it was created.
	QoS QoS
	// Critical is set for the priorities of system-cluster-critical and above: such pods do not swap.
	Critical bool
}

// PodContainer is a container of a pod, other than an init container.
type PodContainer struct {
	Name string
	// Requests and Limits are those that the kubelet has applied to the container, or the spec's if the status lacks them.
	Requests, Limits Amounts
	// Spec has the resources of the pod's spec, which were requested last.
	Spec Resized
	// Restarts marks the resources that cannot change without a restart.
	Restarts [Resources]bool
	// Crashed is the last termination of the container, if there was one.
	Crashed Termination
	// Waiting is set if the kubelet delays its restart after too many terminations.
	Waiting bool
	// FixedHeap is set if the program takes a fraction of its memory limit when it starts, and keeps that amount.
	FixedHeap bool
	// Boosted has the container's resources before its start-up boost.
	Boosted *Resized
}

// Termination is the end of a container; the zero value means that it never ended.
type Termination struct {
	Started, Finished time.Time
	OutOfMemory       bool
	// Failed is set for an end with an error.
	Failed bool
}

// Ended reports whether there is a termination at all.
func (t Termination) Ended() bool { return !t.Finished.IsZero() }

// IsObserved reports whether a container is controlled: admission saw it, or the containers that admission saw are
// unknown.
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

// HasOlderResize reports whether the kubelet's progress is about an older change, and not about the present spec yet.
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

// ResizeStatus is the kubelet's progress with a change of a pod's resources, by the pod's conditions PodResizePending
// and PodResizeInProgress.
type ResizeStatus uint8

// The states.
const (
	// ResizeNone: no change is in progress.
	ResizeNone ResizeStatus = iota
	// ResizeDeferred: the node has no room now; the kubelet tries again.
	ResizeDeferred
	// ResizeInfeasible: this node never has the room; the kubelet gave up.
	ResizeInfeasible
	// ResizeInProgress: the kubelet applies the change.
	ResizeInProgress
	// ResizeError: applying the change failed; the kubelet tries again.
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
