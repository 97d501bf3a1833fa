package update

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

func (p *Policy) boostDuration(container string) time.Duration {
	policy := vertical.PolicyOf(p.Containers, container)
	switch {
	case policy.Boost != nil:
		return policy.Boost.Duration
	case p.Boost != nil:
		return p.Boost.Duration
	}
	return 0
}

func (d *Decision) expiredBoosts(i int) []string {
	pod := &d.pods[i]
	if !pod.Ready {
		return nil
	}
	var expired []string
	for j := range pod.Containers {
		c := &pod.Containers[j]
		if c.Boosted == nil {
			continue
		}
		if lasts := d.policy.boostDuration(c.Name); lasts == 0 || d.At.Sub(pod.ReadySince) > lasts {
			expired = append(expired, c.Name)
		}
	}
	return expired
}

// EndBoosts removes the start-up boosts that have ended, in every mode. Like Play it calls do with one action after the
// other, until one is Deferred.
func (d *Decision) EndBoosts(s *State, do func(Action) Result) {
	p := play{Decision: d, state: s, do: do}
	for i := range d.pods {
		pod := &d.pods[i]
		expired := d.expiredBoosts(i)
		if len(expired) == 0 || pod.Pending || pod.Resize != vertical.ResizeNone ||
			d.budget.UnboostBlockedBy(i) != reason.None {
			continue
		}
		targets := d.targets(pod, d.unboostedTo(pod), expired)
		action := Action{Kind: Unboost, Pod: pod, Reason: reason.BoostExpired, Targets: targets, Unboosted: expired, at: i}
		result := p.do(action)
		if result.Outcome == Deferred {
			return
		}
		p.record(s, action, result)
	}
}

// unboostedTo returns the recommendation for the pod, if the mode applies it at all.
func (d *Decision) unboostedTo(pod *vertical.Pod) []vertical.Recommendation {
	if d.policy.Mode == vertical.ModeOff || len(d.observed.Recommended) == 0 {
		return nil
	}
	return d.fit(pod, d.neverBelowRequests(pod, conflict.Without(d.Conflicts, d.observed.Recommended)))
}

// targets returns the new resources of the pod's containers: the recommendation, with limits in proportion, or, without
// one, the resources from before the boost. A container whose boost has not ended keeps it.
func (d *Decision) targets(pod *vertical.Pod, fitted []vertical.Recommendation, expired []string) []resize.Target {
	var targets []resize.Target
	for i := range pod.Containers {
		c := &pod.Containers[i]
		rec, recommended := vertical.RecommendationOf(fitted, c.Name)
		recommended = recommended && !rec.Target.IsEmpty()
		over := slices.Contains(expired, c.Name)
		switch {
		case c.Boosted != nil && !over:
		case recommended:
			targets = append(targets, resize.Target{Container: c.Name, Resized: d.proportional(c, rec.Target)})
		case over:
			targets = append(targets, resize.Target{Container: c.Name, Resized: *c.Boosted})
		}
	}
	return targets
}
