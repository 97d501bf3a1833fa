package bounds

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// KeepRequests raises recommendations to the containers' requests, so that they lower nothing.
func KeepRequests(recs []vertical.Recommendation, containers []Container) []vertical.Recommendation {
	kept := slices.Clone(recs)
	for i := range kept {
		rec := &kept[i]
		at := slices.IndexFunc(containers, func(c Container) bool { return c.Name == rec.Container })
		if at < 0 {
			continue
		}
		for r := range vertical.Resource(vertical.Resources) {
			target, wants := rec.Target.Get(r)
			request, has := containers[at].Requests.Get(r)
			if !wants || !has || request <= target {
				continue
			}
			rec.Target = rec.Target.With(r, request)
			if upper, bounded := rec.Upper.Get(r); bounded {
				rec.Upper = rec.Upper.With(r, max(upper, request))
			}
		}
	}
	return kept
}

// Raise raises the named resources of a recommendation to a floor.
func Raise(
	rec vertical.Recommendation, floor *vertical.Recommendation, named [vertical.Resources]bool,
) vertical.Recommendation {
	for r := range vertical.Resource(vertical.Resources) {
		if named[r] {
			rec.Lower, rec.Target = raised(rec.Lower, floor.Lower, r), raised(rec.Target, floor.Target, r)
			rec.Upper, rec.Uncapped = raised(rec.Upper, floor.Upper, r), raised(rec.Uncapped, floor.Uncapped, r)
		}
	}
	return rec
}

// raised returns the higher of both, or the floor if there is no amount.
func raised(amounts, floor vertical.Amounts, r vertical.Resource) vertical.Amounts {
	least, ok := floor.Get(r)
	if amount, has := amounts.Get(r); ok && (!has || amount < least) {
		return amounts.With(r, least)
	}
	return amounts
}

// KeepPodRequests is KeepRequests for a running pod. It ignores a start-up boost, which is temporary.
func KeepPodRequests(recommended []vertical.Recommendation, pod *vertical.Pod) []vertical.Recommendation {
	containers := make([]Container, len(pod.Containers))
	for i := range pod.Containers {
		c := &pod.Containers[i]
		containers[i] = Container{Name: c.Name, Requests: c.Requests}
		if c.Boosted != nil {
			containers[i].Requests = c.Boosted.Requests
		}
	}
	return KeepRequests(recommended, containers)
}
