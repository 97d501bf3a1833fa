package bounds

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Action is the bound to which a target was capped.
type Action uint8

// The bounds of a target.
const (
	// ToMinAllowed is the policy's minimum.
	ToMinAllowed Action = iota
	// ToMaxAllowed is the policy's maximum.
	ToMaxAllowed
	// ToLimit is the container's limit, which does not change.
	ToLimit
	// ToLimitRangeMax is the largest request with a limit within a LimitRange of containers.
	ToLimitRangeMax
	// ToLimitRangeMin is the minimum of a LimitRange of containers.
	ToLimitRangeMin
	// ToLimitRangeRatio is the smallest request that the ratio of a LimitRange of containers permits with the container's
	// limit.
	ToLimitRangeRatio
	// ToPodResources is the remainder of the pod's own resources for the container.
	ToPodResources
	// ToPodLimitRange is the container's share of a LimitRange of pods.
	ToPodLimitRange
	// ToPodLimitRangeRatio removes the target, because limits would exceed the ratio of a LimitRange of pods.
	ToPodLimitRangeRatio
	// ToRequest is the pod's request: little history lowers no request.
	ToRequest
	// NotObserved removes the target of a container that admission did not see when the pod was created.
	NotObserved
)

// actions are the texts in annotations of pods, the first five as upstream's.
var actions = [...]string{
	"capped to minAllowed", "capped to maxAllowed", "capped to container limit",
	"capped to fit Max in container LimitRange", "capped to fit Min in container LimitRange",
	"capped to fit MaxLimitRequestRatio in container LimitRange", "capped to fit the pod's resources",
	"capped to fit pod LimitRange", "capped to fit MaxLimitRequestRatio in pod LimitRange", "kept at the request",
	"left out, as admission did not see the container",
}

// String returns upstream's wording.
func (a Action) String() string { return actions[a] }

// Cap is a cap of a container's target.
type Cap struct {
	Container string
	Resource  vertical.Resource
	Action    Action
	// To is the target after it; IsRemoved is set if the target was removed.
	To        vertical.Amount
	IsRemoved bool
}

// IsInAnnotation reports whether a pod's annotation lists such caps: upstream's does not list those of LimitRanges of
// pods.
func (c Cap) IsInAnnotation() bool { return c.Action <= ToPodResources }

// Changed lists the targets that an action changed.
func Changed(before, after []vertical.Recommendation, by Action) []Cap {
	var caps []Cap
	for i := range after {
		rec := &after[i]
		var from vertical.Amounts
		if was, ok := vertical.RecommendationOf(before, rec.Container); ok {
			from = was.Target
		}
		for r := range vertical.Resource(vertical.Resources) {
			if rec.Target.Differs(from, r) {
				to, has := rec.Target.Get(r)
				caps = append(caps, Cap{Container: rec.Container, Resource: r, Action: by, To: to, IsRemoved: !has})
			}
		}
	}
	return caps
}

// String returns the cap as upstream puts it into a pod's annotation.
func (c Cap) String() string { return c.Resource.String() + " " + c.Action.String() }

// caps lists the bounds that led to these amounts, each resource's minimum before its maximum.
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
