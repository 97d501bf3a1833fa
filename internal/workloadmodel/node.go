package workloadmodel

import "math"

// The use of a node apart from its pods: the kubelet, the container runtime and the kernel of a small idle node.
const (
	defaultNodeIdleMilli   = 50
	defaultNodeMemoryBytes = 512 << 20
)

// Node is a machine whose CPU its pods share.
type Node struct {
	name          string
	capacityMilli float64 // 0: no bound
	idleMilli     float64
	memoryBytes   float64 // of the system alone

	cpuMilliSeconds float64 // cumulative, system and pods
	usedMilli       float64 // in the last step
	podMemoryBytes  float64 // after the last step

	// In the current step, in milli-core-seconds.
	wanted, guaranteed, used  float64
	guaranteedPart, extraPart float64 // of a pod's wish: up to its request, and beyond it
	spare                     float64
}

// NodeStats is the use of a node.
type NodeStats struct {
	CPUSeconds  float64 // cumulative, never decreases
	CPUMilli    float64 // mean rate over the last step
	MemoryBytes float64
}

// Name returns the name that the node was added with.
func (n *Node) Name() string { return n.name }

// Stats returns the state after the last step.
func (n *Node) Stats() NodeStats {
	return NodeStats{
		CPUSeconds:  n.cpuMilliSeconds / 1000,
		CPUMilli:    n.usedMilli,
		MemoryBytes: n.memoryBytes + n.podMemoryBytes,
	}
}

// SetCapacity changes the CPU that pods can have; 0 means that the node sets no bound.
func (n *Node) SetCapacity(cpuMilli float64) { n.capacityMilli = cpuMilli }

func (n *Node) begin() {
	n.wanted, n.guaranteed, n.used, n.podMemoryBytes = 0, 0, 0, 0
}

// share decides how much of their wishes the pods get: all if it fits, else
// requests first (in proportion if even these do not fit), then the rest in proportion to what is still wanted.
func (n *Node) share(seconds float64) {
	n.guaranteedPart, n.extraPart, n.spare = 1, 1, math.Inf(1)
	if n.capacityMilli <= 0 {
		return
	}
	capacity := n.capacityMilli * seconds
	n.spare = capacity - n.wanted
	if n.spare >= 0 {
		return
	}
	n.spare = 0
	n.guaranteedPart = min(1, capacity/n.guaranteed) // guaranteed 0 gives +Inf, hence 1
	n.extraPart = 0
	if left := capacity - n.guaranteed; left > 0 {
		n.extraPart = left / (n.wanted - n.guaranteed)
	}
}

func (n *Node) finish(seconds float64) {
	used := n.used + n.idleMilli*seconds
	n.cpuMilliSeconds += used
	n.usedMilli = used / seconds
}
