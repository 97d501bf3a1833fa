package vertical

import "time"

// Mode is how a recommendation reaches pods.
type Mode uint8

// The modes. The API's Auto is Recreate, as is a VerticalPodAutoscaler without
// an update policy.
const (
	// ModeOff only recommends.
	ModeOff Mode = iota
	// ModeInitial sets the requests of new pods.
	ModeInitial
	// ModeRecreate also evicts pods, so that new ones take their place.
	ModeRecreate
	// ModeInPlaceOrRecreate resizes running pods, and evicts where that fails.
	ModeInPlaceOrRecreate
	// ModeInPlace resizes running pods and never evicts.
	ModeInPlace
)

var modes = [...]string{"Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace"}

// String returns the API's name of the mode.
func (m Mode) String() string { return modes[m] }

// Disrupts reports whether running pods are changed.
func (m Mode) Disrupts() bool { return m >= ModeRecreate }

// ResizesInPlace reports whether running pods are resized, if they can be.
func (m Mode) ResizesInPlace() bool { return m == ModeInPlaceOrRecreate || m == ModeInPlace }

// Values is which values of a container are controlled.
type Values uint8

// The values that are controlled.
const (
	// RequestsAndLimits keeps each limit in proportion to its request.
	RequestsAndLimits Values = iota
	// RequestsOnly leaves limits alone, and requests below them.
	RequestsOnly
)

// AllContainers is the name of the policy for containers without one.
const AllContainers = "*"

// ContainerPolicy is what the owner asks for one container. The zero value is
// upstream's default, but for Controlled.
type ContainerPolicy struct {
	// Container is its name, or AllContainers.
	Container string
	// Off leaves the container alone.
	Off                    bool
	MinAllowed, MaxAllowed Amounts
	// Controlled says which resources are recommended; both by default.
	Controlled [Resources]bool
	Values     Values
	// OOM and Memory override flags; zero values do not.
	OOM    OOMPolicy
	Memory MemoryPolicy
	Boost  *Boost
}

// OOMPolicy is by how much memory is raised after a container ran out of it.
type OOMPolicy struct {
	// BumpUpRatio is at least 1; 0 is the flag's.
	BumpUpRatio float64
	// MinBumpUpBytes is the least increase, if HasMinBumpUp; otherwise the flag's is.
	MinBumpUpBytes float64
	HasMinBumpUp   bool
}

// MemoryPolicy is over what time memory peaks are taken.
type MemoryPolicy struct {
	// Interval has one peak; 0 is the flag's.
	Interval time.Duration
	// Count is after how many intervals an aggregate without samples is forgotten;
	// 0 is the flag's.
	Count int64
}

// Boost is more CPU while a container starts.
type Boost struct {
	// Factor multiplies the request; 0 where Add is meant.
	Factor int32
	// AddMilli is added to the request.
	AddMilli Amount
	// Duration is how long it lasts once the pod is ready.
	Duration time.Duration
}

// Controls returns the default: both resources.
func Controls() [Resources]bool { return [Resources]bool{true, true} }

// PolicyOf returns the container's own policy, or the one for all others, or the default. They are never merged.
func PolicyOf(policies []ContainerPolicy, container string) ContainerPolicy {
	found := -1
	for i := range policies {
		switch policies[i].Container {
		case container:
			return policies[i]
		case AllContainers:
			found = i
		}
	}
	if found >= 0 {
		return policies[found]
	}
	return ContainerPolicy{Container: container, Controlled: Controls()}
}
