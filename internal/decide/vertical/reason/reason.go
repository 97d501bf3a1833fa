// Package reason names the reasons why the vertical side changes a pod, or does not. Status, events, logs and metrics
// use exactly these names.
package reason

// Reason is why a pod is changed, or is not.
type Reason uint8

// The reasons. None is the zero value: nothing blocks the change.
const (
	None Reason = iota

	// Why a pod is changed.

	// OutsideRange: a request is below the lower or above the upper bound, or missing.
	OutsideRange
	// QuickOOM: a container ran out of memory soon after it started, and not long ago.
	QuickOOM
	// LongLived: the pod is old, and its requests are far enough from the target.
	LongLived
	// BoostExpired: the time of the start-up boost is over.
	BoostExpired
	// ResizeFailed: the change in place failed, and the mode allows an eviction.
	ResizeFailed

	// Why no change is needed.

	// NoRecommendation: there is no recommendation yet.
	NoRecommendation
	// NotStarted: the start of the pod is unknown.
	NotStarted
	// WithinBounds: the requests are close enough for a pod of its age.
	WithinBounds
	// SmallDifference: the requests are close to the recommendation.
	SmallDifference
	// NothingChanges: the requests equal the recommendation.
	NothingChanges
	// Capped: the requests equal the recommendation within its bounds.
	Capped
	// Conflict: a HorizontalPodAutoscaler divides by the requests that would have to change.
	Conflict
	// LittleHistory: there are too few samples to lower requests.
	LittleHistory
	// Boosted: the pod still has its start-up boost.
	Boosted
	// ModeOff: the mode changes no running pods.
	ModeOff

	// What blocks a change.

	// EvictionRequirements: the change is not in a direction that the object permits.
	EvictionRequirements
	// MinReplicas: the workload has fewer pods than the object requires for disruptions.
	MinReplicas
	// UnknownReplicas: the desired number of pods is unknown.
	UnknownReplicas
	// DisruptionBudget: no more pods of the workload may be unavailable now.
	DisruptionBudget
	// PodDisruptionBudget: the API server refused the eviction.
	PodDisruptionBudget
	// RateLimit: the pass ended before this pod.
	RateLimit
	// CircuitOpen: pods that were changed earlier did not come up.
	CircuitOpen
	// NotAdmitted: the replacement of an evicted pod came up without the recommendation.
	NotAdmitted
	// FailedCreate: pods of the workload are not created.
	FailedCreate
	// WaitingForReplacement: the replacement of an evicted pod has not come up yet.
	WaitingForReplacement
	// ClusterNotAdmitted: replacements of several workloads came up without the recommendation.
	ClusterNotAdmitted
	// ClusterBudget: no more pods of the cluster may be evicted now.
	ClusterBudget
	// NodesNotReady: most nodes are not ready.
	NodesNotReady
	// LeaseStale: the admission controller does not renew its Lease, so new pods would not get their requests.
	LeaseStale
	// PodPending: a pod that does not run is not resized.
	PodPending
	// ResizeUnderway: the kubelet is still busy with the last change.
	ResizeUnderway
	// ResizeError: the kubelet reports an error of the last change. It tries again.
	ResizeError
	// InfeasibleBefore: the node refused a similar change before, and no recommendation has decreased since.
	InfeasibleBefore
	// BackingOff: the last attempt failed recently.
	BackingOff
	// Refused: an admission policy, a webhook or a quota refuses the resize.
	Refused
	// Failed: the API server returned an error.
	Failed

	// The results of the checks before a resize.

	// NoResize: the server has no pods/resize.
	NoResize
	// OldKubelet: the node's kubelet does not support resizes.
	OldKubelet
	// NotLinux: only Linux nodes support resizes.
	NotLinux
	// QoSClass: the pod's quality of service would change, which the API forbids.
	QoSClass
	// LimitRange: a LimitRange of the namespace forbids it.
	LimitRange
	// ResourceQuota: the namespace's quota has no room for it.
	ResourceQuota
	// NodeTooSmall: the pod would not fit even if it were alone on the node.
	NodeTooSmall
	// NodeFull: the node's other pods leave no room.
	NodeFull
	// StaticPolicy: the kubelet assigns processors or memory exclusively to the pod.
	StaticPolicy
	// Swap: the kubelet does not change the memory of a container that may swap.
	Swap
	// MemoryInUse: the new limit would be below what the container uses now.
	MemoryInUse
	// MemoryUnknown: the memory limit would fall, and the present use is unknown.
	MemoryUnknown
	// PodResources: the containers would not fit into the pod's own resources.
	PodResources
	// RequestAboveLimit: a request would be above its limit, such as one of 0.
	RequestAboveLimit
	// BelowZero: an amount would be below zero, by a maxAllowed that is.
	BelowZero
	// InitContainer: the recommendation is for an init container.
	InitContainer
	// FixedHeap: the program would not follow another amount of memory before a restart.
	FixedHeap

	end
)

var names = [end]string{
	None:         "",
	OutsideRange: "OutsideRange", QuickOOM: "QuickOOM", LongLived: "LongLived", BoostExpired: "BoostExpired",
	ResizeFailed:     "ResizeFailed",
	NoRecommendation: "NoRecommendation", NotStarted: "NotStarted", WithinBounds: "WithinBounds",
	SmallDifference: "SmallDifference",
	NothingChanges:  "NothingChanges", Capped: "Capped", Conflict: "Conflict", LittleHistory: "LittleHistory",
	Boosted:              "Boosted",
	ModeOff:              "ModeOff",
	EvictionRequirements: "EvictionRequirements", MinReplicas: "MinReplicas", UnknownReplicas: "UnknownReplicas",
	DisruptionBudget: "DisruptionBudget", PodDisruptionBudget: "PodDisruptionBudget", RateLimit: "RateLimit",
	CircuitOpen: "CircuitOpen",
	NotAdmitted: "NotAdmitted", FailedCreate: "FailedCreate", WaitingForReplacement: "WaitingForReplacement",
	ClusterNotAdmitted: "ClusterNotAdmitted", ClusterBudget: "ClusterBudget", NodesNotReady: "NodesNotReady",
	LeaseStale: "LeaseStale", PodPending: "PodPending", ResizeUnderway: "ResizeUnderway", ResizeError: "ResizeError",
	InfeasibleBefore: "InfeasibleBefore",
	BackingOff:       "BackingOff", Refused: "Refused", Failed: "Failed",
	NoResize: "NoResize", OldKubelet: "OldKubelet", NotLinux: "NotLinux", QoSClass: "QoSClass", LimitRange: "LimitRange",
	ResourceQuota: "ResourceQuota", NodeTooSmall: "NodeTooSmall", NodeFull: "NodeFull", StaticPolicy: "StaticPolicy",
	Swap:        "Swap",
	MemoryInUse: "MemoryInUse", MemoryUnknown: "MemoryUnknown", PodResources: "PodResources",
	RequestAboveLimit: "RequestAboveLimit", BelowZero: "BelowZero",
	InitContainer: "InitContainer", FixedHeap: "FixedHeap",
}

// String returns the name in CamelCase, as conditions require.
func (r Reason) String() string { return names[r] }

// All lists every reason but None.
func All() []Reason {
	all := make([]Reason, 0, end-1)
	for r := None + 1; r < end; r++ {
		all = append(all, r)
	}
	return all
}
