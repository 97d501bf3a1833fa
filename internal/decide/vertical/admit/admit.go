// Package admit decides the resources of a new pod: the recommended requests, limits in proportion, more CPU while it
// starts, and annotations that list these changes.
package admit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Policy has the object's settings for the containers of new pods, and its recommendations.
type Policy struct {
	// Name is the VerticalPodAutoscaler's.
	Name       string
	Mode       vertical.Mode
	Containers []vertical.ContainerPolicy
	// Recommended is set if there is a recommendation, even one without containers.
	Recommended     bool
	Recommendations []vertical.Recommendation
	// LittleHistory is set if the recommendations follow from few samples.
	LittleHistory bool
	// Boost applies to containers whose policy has none; nil means no boost.
	Boost *vertical.Boost
}

// Options apply to all pods.
type Options struct {
	// Boosts is set if containers get more CPU while they start.
	Boosts bool
	// MaxBoostMilli is the largest CPU request of a start-up boost; 0 means no limit.
	MaxBoostMilli vertical.Amount
	Divergences   divergence.Set
}

// Container is one of the new pod's.
type Container struct {
	bounds.Container
	// Bare is set if it has neither requests nor limits of any resource.
	Bare bool
}

// Pod is the new pod.
type Pod struct {
	Containers []Container
	// Resources and InitContainers are as in [bounds.Pod].
	Resources      vertical.Resized
	InitContainers vertical.InitContainers
}

// Change is the change of a container. Amounts that are not set stay unchanged.
type Change struct {
	Requests, Limits vertical.Amounts
	// Boosted is set if the CPU is larger than after the start.
	Boosted bool
}

// Decision is the change of a pod.
type Decision struct {
	// Changes has one for each container, in the pod's order.
	Changes []Change
	// Updates is the annotation that lists the changes and their reasons; empty without changes.
	Updates string
	// Observed is the annotation that lists the pod's containers at admission.
	Observed string
	// Refused is the annotation that says why the pod gets no boost, or no change at all: the API server would refuse it.
	// It is empty if the pod gets everything.
	Refused string
}

// Decide decides the resources of a new pod. ranges may be nil.
func Decide(p Policy, pod Pod, ranges *bounds.Ranges, o Options) Decision {
	if ranges == nil {
		ranges = &bounds.Ranges{}
	}
	decision := p.decide(pod, ranges, o, o.Boosts)
	if !o.Divergences.Has(divergence.AdmissiblePods) {
		return decision
	}
	refusal, refused := pod.refused(decision.Changes, ranges)
	if !refused {
		return decision
	}
	if decision.isBoosted() {
		decision = p.decide(pod, ranges, o, false)
		if _, refused := pod.refused(decision.Changes, ranges); !refused {
			decision.Refused = "no start-up boost of " + p.Name + ": " + refusal.String()
			return decision
		}
	}
	return Decision{
		Changes: make([]Change, len(pod.Containers)), Observed: decision.Observed,
		Refused: "no resources of " + p.Name + ": " + refusal.String(),
	}
}

// decide decides without checking whether the API server admits the pod.
func (p Policy) decide(pod Pod, ranges *bounds.Ranges, o Options, boosts bool) Decision {
	changes, words := p.recommended(pod, ranges, o.Divergences)
	decision := Decision{Changes: changes, Observed: observed(pod.Containers)}
	var updates []string
	for i, c := range pod.Containers {
		policy := vertical.PolicyOf(p.Containers, c.Name)
		if o.Boosts && policy.Off {
			changes[i] = Change{}
			continue
		}
		if boosts {
			changes[i].boost(c, policy, p.boost(policy), pod.mostBoosted(i, p, changes, o))
		}
		if !c.Bare && changes[i].Requests.IsEmpty() && changes[i].Limits.IsEmpty() {
			continue
		}
		reasons := slices.Concat(words[i], changes[i].words())
		updates = append(updates, "container "+strconv.Itoa(i)+": "+strings.Join(reasons, ", "))
	}
	if len(updates) > 0 {
		decision.Updates = "Pod resources updated by " + p.Name + ": " + strings.Join(updates, "; ")
	}
	return decision
}

func (d *Decision) isBoosted() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Boosted })
}

// refused returns why the API server would not admit the pod with these changes.
func (pod Pod) refused(changes []Change, ranges *bounds.Ranges) (bounds.Refusal, bool) {
	after := make([]vertical.Resized, len(changes))
	for i, c := range pod.Containers {
		after[i] = vertical.Resized{
			Requests: c.Requests.Replace(changes[i].Requests), Limits: c.Limits.Replace(changes[i].Limits),
		}
	}
	return bounds.Refused(pod.plain(), after, ranges)
}

// recommended returns the recommendation for each container, and the text about the caps for the annotation.
func (p Policy) recommended(pod Pod, ranges *bounds.Ranges, d divergence.Set) ([]Change, [][]string) {
	changes, words := make([]Change, len(pod.Containers)), make([][]string, len(pod.Containers))
	if !p.Recommended || p.Mode == vertical.ModeOff {
		return changes, words
	}
	plain, recommendations := pod.plain(), p.Recommendations
	if p.LittleHistory && d.Has(divergence.LittleHistory) {
		recommendations = bounds.KeepRequests(recommendations, plain.Containers)
	}
	fitted, caps := bounds.Fit(recommendations, plain, p.Containers, ranges, d)
	targets := make(map[string]vertical.Amounts, len(fitted))
	for _, rec := range fitted {
		if _, known := targets[rec.Container]; !known {
			targets[rec.Container] = rec.Target
		}
	}
	for i, c := range pod.Containers {
		target, known := targets[c.Name]
		if !known {
			continue
		}
		changes[i].Requests = target
		for _, capped := range caps {
			if capped.Container == c.Name && capped.IsInAnnotation() {
				words[i] = append(words[i], capped.String())
			}
		}
		if vertical.PolicyOf(p.Containers, c.Name).Values != vertical.RequestsAndLimits {
			continue
		}
		limits, notes := bounds.ProportionalLimits(c.Requests, c.Limits, ranges.Container.Default, target)
		changes[i].Limits = limits
		for _, note := range notes {
			words[i] = append(words[i], note.String())
		}
	}
	return changes, words
}

func (pod Pod) plain() bounds.Pod {
	all := make([]bounds.Container, len(pod.Containers))
	for i, c := range pod.Containers {
		all[i] = c.Container
	}
	return bounds.Pod{Containers: all, Resources: pod.Resources, InitContainers: pod.InitContainers}
}

// words returns upstream's names for what is set.
func (c Change) words() []string {
	var words []string
	for _, kind := range []struct {
		amounts vertical.Amounts
		name    string
	}{{c.Requests, "request"}, {c.Limits, "limit"}} {
		for r := range vertical.Resource(vertical.Resources) {
			if _, set := kind.amounts.Get(r); set {
				words = append(words, r.String()+" "+kind.name)
			}
		}
	}
	return words
}

func observed(containers []Container) string {
	names := make([]string, len(containers))
	for i, c := range containers {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
