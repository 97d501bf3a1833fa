// Package bounds fits recommendations to the bounds of the object and of the LimitRanges of its namespace.
package bounds

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Container has the present resources of one container of a pod.
type Container struct {
	Name             string
	Requests, Limits vertical.Amounts
}

// Pod is the pod to which recommendations are fitted.
type Pod struct {
	Containers []Container
	// Resources has the requests and limits of the pod as a whole, if these are set beside its containers'.
	Resources      vertical.Resized
	InitContainers vertical.InitContainers
}

func (p Pod) container(name string) *Container {
	i := slices.IndexFunc(p.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Containers[i]
}

// Policy caps a recommendation, except Uncapped, by the object's minimum and maximum. globalMax applies if the object
// has no maximum. An amount of 0 means no cap.
func Policy(r vertical.Recommendation, p vertical.ContainerPolicy, globalMax vertical.Amounts) vertical.Recommendation {
	for _, at := range []*vertical.Amounts{&r.Target, &r.Lower, &r.Upper} {
		*at, _ = within(*at, p.MinAllowed, or(p.MaxAllowed, globalMax))
	}
	return r
}

// or returns first, with the amounts of second that it lacks.
func or(first, second vertical.Amounts) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		if _, has := first.Get(r); has {
			continue
		}
		if _, has := second.Get(r); has {
			first = first.Take(r, second)
		}
	}
	return first
}

// capped has, for each resource, the bound that raised it and the bound that lowered it.
type capped struct{ raised, lowered [vertical.Resources]bool }

// within raises amounts to least, then lowers them to most, each in the format of its bound. An amount of 0 means no
// bound.
func within(amounts, least, most vertical.Amounts) (vertical.Amounts, capped) {
	var by capped
	for r := range vertical.Resource(vertical.Resources) {
		amount, has := amounts.Get(r)
		if !has {
			continue
		}
		if bound, _ := least.Get(r); bound != 0 && amount < bound {
			amount, by.raised[r] = bound, true
			amounts = amounts.In(r, least.Format(r))
		}
		if bound, _ := most.Get(r); bound != 0 && amount > bound {
			amount, by.lowered[r] = bound, true
			amounts = amounts.In(r, most.Format(r))
		}
		amounts = amounts.With(r, amount)
	}
	return amounts, by
}

// Fit adjusts recommendations to one pod: to the LimitRanges of pods, then of containers, then to the object's
// policies, below limits that do not change, and to the checks of the API server. It drops recommendations for
// containers that the pod does not have. ranges may be nil. The caps are those of the targets.
func Fit(
	recs []vertical.Recommendation, pod Pod, policies []vertical.ContainerPolicy, ranges *Ranges, d divergence.Set,
) ([]vertical.Recommendation, []Cap) {
	if ranges == nil {
		ranges = &Ranges{}
	}
	fitted := slices.Clone(recs)
	var caps []Cap
	if ranges.HasPod {
		fitted = fitPod(fitted, pod.Containers, policies, *ranges, d)
		caps = Changed(recs, fitted, ToPodLimitRange)
	}
	limits := ranges.Container
	if !d.Has(divergence.LimitRequestRatio) {
		limits.MaxRatioMilli = vertical.Amounts{}
	}
	kept := fitted[:0]
	for _, rec := range fitted {
		c := pod.container(rec.Container)
		if c == nil {
			continue
		}
		fit := containerFit{Container: *c, policy: vertical.PolicyOf(policies, rec.Container), limits: limits}
		fit.limitsStay = fit.policy.Values == vertical.RequestsOnly && d.Has(divergence.LimitRangeOrder)
		caps = append(caps, fit.fit(&rec)...)
		kept = append(kept, rec)
	}
	if d.Has(divergence.LimitRequestRatio) && ranges.HasPod {
		before := slices.Clone(kept)
		podRatio{kept, pod, policies, *ranges}.keep()
		caps = append(caps, Changed(before, kept, ToPodLimitRangeRatio)...)
	}
	if d.Has(divergence.PodResources) && pod.Resources != (vertical.Resized{}) {
		caps = append(caps, resourcesFit{kept, pod, policies, ranges.Container.Default}.fit()...)
	}
	return kept, caps
}
