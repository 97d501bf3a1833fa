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
	// ToPodLimitRange is the container's part of what a LimitRange of pods allows.
	ToPodLimitRange
	// ToPodLimitRangeRatio is nothing, as limits would be too far above requests for a LimitRange of pods.
	ToPodLimitRangeRatio
	// ToRequest is what the pod requests: little history lowers no request.
	ToRequest
)

// actions are the texts in annotations of pods, the first five as upstream's.
var actions = [...]string{
	"capped to minAllowed", "capped to maxAllowed", "capped to container limit",
	"capped to fit Max in container LimitRange", "capped to fit Min in container LimitRange",
	"capped to fit MaxLimitRequestRatio in container LimitRange", "capped to fit the pod's resources",
	"capped to fit pod LimitRange", "capped to fit MaxLimitRequestRatio in pod LimitRange", "kept at the request",
}

// String returns upstream's wording.
func (a Action) String() string { return actions[a] }

// Cap says that a container's target was capped.
type Cap struct {
	Container string
	Resource  vertical.Resource
	Action    Action
	// To is the target after it; IsRemoved says that there is none.
	To        vertical.Amount
	IsRemoved bool
}

// IsInAnnotation reports whether a pod's annotation lists such caps: upstream's has none of LimitRanges of pods.
func (c Cap) IsInAnnotation() bool { return c.Action <= ToPodResources }

// Changed lists the targets that an action changed.
func Changed(before, after []vertical.Recommendation, by Action) []Cap {
	var caps []Cap
	for i := range after {
		rec := &after[i]
		was, ok := vertical.RecommendationOf(before, rec.Container)
		for r := range vertical.Resource(vertical.Resources) {
			to, has := rec.Target.Get(r)
			from, had := vertical.Amount(0), false
			if ok {
				from, had = was.Target.Get(r)
			}
			if to != from || has != had {
				caps = append(caps, Cap{Container: rec.Container, Resource: r, Action: by, To: to, IsRemoved: !has})
			}
		}
	}
	return caps
}

// String returns the cap as upstream puts it into a pod's annotation.
func (c Cap) String() string { return c.Resource.String() + " " + c.Action.String() }

// caps lists what led to these amounts, each resource's minimum before its maximum.
func (by capped) caps(container string, amounts vertical.Amounts, least, most Action) []Cap {
	var caps []Cap
	for r := range vertical.Resource(vertical.Resources) {
		to, _ := amounts.Get(r)
		if by.raised[r] {
			caps = append(caps, Cap{Container: container, Resource: r, Action: least, To: to})
		}
		if by.lowered[r] {
			caps = append(caps, Cap{Container: container, Resource: r, Action: most, To: to})
		}
	}
	return caps
}
