package vertical

import "time"

// Mode says how recommendations are applied to pods.
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
	// ModeInPlaceOrRecreate resizes running pods, and evicts them if that fails.
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

// Values says which values of a container are controlled.
type Values uint8

// The values that are controlled.
const (
	// RequestsAndLimits keeps each limit in proportion to its request.
	RequestsAndLimits Values = iota
	// RequestsOnly does not change limits, and keeps requests below them.
	RequestsOnly
)

// AllContainers is the name of the policy for containers without one.
const AllContainers = "*"

// ContainerPolicy has the object's settings for one container. The zero value is upstream's default, except for
// Controlled.
type ContainerPolicy struct {
	// Container is its name, or AllContainers.
	Container string
	// Off switches recommendations for the container off.
	Off                    bool
	MinAllowed, MaxAllowed Amounts
	// Controlled marks the resources that are recommended; both by default.
	Controlled [Resources]bool
	Values     Values
	// OOM and Memory override flags, except for zero values.
	OOM    OOMPolicy
	Memory MemoryPolicy
	Boost  *Boost
}

// OOMPolicy is the increase of memory after a container ran out of it.
type OOMPolicy struct {
	// BumpUpRatio is at least 1; 0 means the flag's.
	BumpUpRatio float64
	// MinBumpUpBytes is the smallest increase, if HasMinBumpUp is set; otherwise the flag's applies.
	MinBumpUpBytes float64
	HasMinBumpUp   bool
}

// MemoryPolicy sets the intervals of memory peaks.
type MemoryPolicy struct {
	// Interval is the time that has one peak; 0 means the flag's.
	Interval time.Duration
	// Count is the number of intervals after which an aggregate without samples is dropped; 0 means the flag's.
	Count int64
}

// Boost is additional CPU while a container starts.
type Boost struct {
	// Factor multiplies the request; 0 if AddMilli applies.
	Factor int32
	// AddMilli is added to the request.
	AddMilli Amount
	// Duration is the time for which it lasts once the pod is ready.
	Duration time.Duration
}

// Controls returns both resources, the default of controlledResources.
func Controls() [Resources]bool { return [Resources]bool{true, true} }

// PolicyOf returns the container's own policy, or the one for all others, or the default. They are never merged.
func PolicyOf(policies []ContainerPolicy, container string) ContainerPolicy {
	others := ContainerPolicy{Container: container, Controlled: Controls()}
	for i := range policies {
		switch policies[i].Container {
		case container:
			return policies[i]
		case AllContainers:
			others = policies[i]
		}
	}
	return others
}
