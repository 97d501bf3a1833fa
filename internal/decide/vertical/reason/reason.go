// Package reason names why the vertical side changes a pod, or leaves it as it
// is. Status, events, logs and metrics show these names and no others.
package reason

// Reason is why something happens to a pod or does not.
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

	// NoRecommendation: there is nothing to apply yet.
	NoRecommendation
	// NotStarted: it is not known since when the pod runs.
	NotStarted
	// WithinBounds: the requests are good enough for a pod of its age.
	WithinBounds
	// SmallDifference: the requests are nearly what is recommended.
	SmallDifference
	// NothingChanges: the requests are what is recommended.
	NothingChanges
	// Capped: the requests are what a bound leaves of what is recommended.
	Capped
	// Conflict: a HorizontalPodAutoscaler divides by what would have to change.
	Conflict
	// LittleHistory: there are too few samples to lower requests by.
	LittleHistory
	// Boosted: the pod still has its start-up boost.
	Boosted
	// ModeOff: the mode changes no running pods.
	ModeOff

	// What blocks a change.

	// EvictionRequirements: the change does not go in a direction that the owner allows.
	EvictionRequirements
	// MinReplicas: the workload has fewer pods than the owner wants to see disrupted.
	MinReplicas
	// UnknownReplicas: it is unknown how many pods there should be.
	UnknownReplicas
	// DisruptionBudget: enough pods of the workload are away for now.
	DisruptionBudget
	// PodDisruptionBudget: the API server refused the eviction.
	PodDisruptionBudget
	// RateLimit: the pass ended before it was this pod's turn.
	RateLimit
	// CircuitOpen: pods that were changed before did not come up.
	CircuitOpen
	// NotAdmitted: a pod that replaced an evicted one came up without what is
	// recommended.
	NotAdmitted
	// FailedCreate: pods of the workload are not created.
	FailedCreate
	// WaitingForReplacement: a pod was evicted, and its replacement has not come up yet.
	WaitingForReplacement
	// ClusterNotAdmitted: replacements of several workloads came up without what is
	// recommended.
	ClusterNotAdmitted
	// ClusterBudget: enough pods of the cluster were evicted for now.
	ClusterBudget
	// NodesNotReady: most nodes are not ready.
	NodesNotReady
	// LeaseStale: the admission controller does not renew its Lease, so new pods would not get their requests.
	LeaseStale
	// PodPending: a pod that does not run is not resized.
	PodPending
	// ResizeUnderway: the kubelet is still busy with the last change.
	ResizeUnderway
	// ResizeError: the kubelet says that the last change went wrong. It tries again.
	ResizeError
	// InfeasibleBefore: the node refused the like before, and nothing has become less.
	InfeasibleBefore
	// BackingOff: the last attempt failed not long ago.
	BackingOff
	// Refused: an admission policy, a webhook or a quota does not let the resize pass.
	Refused
	// Failed: the API server answered with an error.
	Failed

	// What a resize would break: the checks before one.

	// NoResize: the server has no pods/resize.
	NoResize
	// OldKubelet: the node's kubelet cannot resize.
	OldKubelet
	// NotLinux: only nodes with Linux can resize.
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
	// StaticPolicy: the kubelet gives the pod processors or memory of its own.
	StaticPolicy
	// Swap: the kubelet does not change the memory of a container that may swap.
	Swap
	// MemoryInUse: the new limit would be below what the container uses now.
	MemoryInUse
	// MemoryUnknown: the memory limit would fall, and what is used is unknown.
	MemoryUnknown
	// PodResources: the containers would not fit into what the pod as a whole has.
	PodResources
	// RequestAboveLimit: a request would be above its limit, such as one of 0.
	RequestAboveLimit
	// InitContainer: the recommendation is for an init container.
	InitContainer
	// FixedHeap: the program would not use more memory before it is restarted.
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
	RequestAboveLimit: "RequestAboveLimit",
	InitContainer:     "InitContainer", FixedHeap: "FixedHeap",
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
