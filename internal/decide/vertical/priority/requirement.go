package priority

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Direction is the required direction of a change.
type Direction uint8

// The directions. An unknown value of the API is never fulfilled.
const (
	NoDirection Direction = iota
	// Higher is TargetHigherThanRequests.
	Higher
	// Lower is TargetLowerThanRequests.
	Lower
)

// Requirement is fulfilled if one of the resources changes in the direction.
type Requirement struct {
	Resources []vertical.Resource
	Direction Direction
}

// MeetsRequirements reports whether the object's requirements permit a change of the pod, by an eviction or a resize:
// one container fulfils all of them, or lacks a request that is recommended. A container that admission did not see
// does not count: a new pod would not get its recommendation either.
func (p *Policy) MeetsRequirements(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	if p.Unrestricted {
		return true
	}
	for i := range pod.Containers {
		container := &pod.Containers[i]
		if p.Divergences.Has(divergence.EvictionRequirements) && !pod.IsObserved(container.Name) {
			continue
		}
		rec, ok := vertical.RecommendationOf(recommended, container.Name)
		if ok && p.meets(container.Requests, rec.Target) {
			return true
		}
	}
	return false
}

func (p *Policy) meets(requests, target vertical.Amounts) bool {
	onlyTargets := p.Divergences.Has(divergence.EvictionRequirements)
	for r := range vertical.Resource(vertical.Resources) {
		_, wanted := target.Get(r)
		if _, ok := requests.Get(r); !ok && (wanted || !onlyTargets) {
			return true
		}
	}
	return !slices.ContainsFunc(p.Requirements, func(required Requirement) bool {
		return !slices.ContainsFunc(required.Resources, func(r vertical.Resource) bool {
			from, _ := requests.Get(r)
			to, wanted := target.Get(r)
			if !wanted && onlyTargets {
				return false
			}
			// Upstream treats a resource without a target as one with a target of 0.
			return required.Direction == Higher && to > from || required.Direction == Lower && to < from
		})
	})
}
