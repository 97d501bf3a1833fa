package bounds

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Action is what a target was capped to.
type Action uint8

// What a target is capped to.
const (
	// ToMinAllowed is the policy's minimum.
	ToMinAllowed Action = iota
	// ToMaxAllowed is the policy's maximum.
	ToMaxAllowed
	// ToLimit is the container's limit, which stays as it is.
	ToLimit
	// ToLimitRangeMax is the most that keeps the limit within a LimitRange of containers.
	ToLimitRangeMax
	// ToLimitRangeMin is the least that a LimitRange of containers lets a container have.
	ToLimitRangeMin
	// ToLimitRangeRatio is the least that a LimitRange of containers lets a container
	// request beside its limit.
	ToLimitRangeRatio
	// ToPodResources is what the pod's own resources leave for the container.
	ToPodResources
)

// actions are the texts in annotations of pods, the first five as upstream's.
var actions = [...]string{
	"capped to minAllowed", "capped to maxAllowed", "capped to container limit",
	"capped to fit Max in container LimitRange", "capped to fit Min in container LimitRange",
	"capped to fit MaxLimitRequestRatio in container LimitRange", "capped to fit the pod's resources",
}

// String is upstream's wording.
func (a Action) String() string { return actions[a] }

// Cap says that a container's target was capped.
type Cap struct {
	Container string
	Resource  vertical.Resource
	Action    Action
}

// String is the cap as upstream puts it into a pod's annotation.
func (c Cap) String() string { return c.Resource.String() + " " + c.Action.String() }

// caps lists what happened, each resource's minimum before its maximum.
func (by capped) caps(container string, least, most Action) []Cap {
	var caps []Cap
	for r := range vertical.Resource(vertical.Resources) {
		if by.raised[r] {
			caps = append(caps, Cap{Container: container, Resource: r, Action: least})
		}
		if by.lowered[r] {
			caps = append(caps, Cap{Container: container, Resource: r, Action: most})
		}
	}
	return caps
}
