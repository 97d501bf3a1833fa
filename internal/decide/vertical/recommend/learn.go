package recommend

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// absurd is the amount that no machine has: a million cores, a pebibyte.
var absurd = [vertical.Resources]vertical.Amount{1e9, 1 << 50}

// maxAhead is the largest time by which a sample may be newer than now: clocks differ.
const maxAhead = 10 * time.Minute

// learner adds an observation to a state.
type learner struct {
	policy *Policy
	now    time.Time
	state  State
	// policies has those of the containers, with the object's overrides.
	policies map[string]*usage.Policy
	discard  []Discarded
	// lost is set while the target cannot be looked up.
	lost bool
}

// learn returns the state after the observation, in upstream's order: pods, samples, out-of-memory kills, deleted pods.
// It does not change the state before.
func learn(now time.Time, p *Policy, s State, o *Observation) (State, []Discarded) {
	l := &learner{policy: p, now: now, state: s, policies: map[string]*usage.Policy{}, lost: o.Lookup.Problem != ""}
	l.state.Containers = slices.Clone(s.Containers)
	for i := range l.state.Containers {
		l.state.Containers[i].Usage = l.state.Containers[i].Usage.Clone()
	}
	l.state.Decided = vertical.StampOf(now)
	known := !p.keepsHistory(o) // while the pods are unknown, use those from before
	if known {
		l.appear(o)
	}
	for i := range l.state.Containers {
		l.container(l.state.Containers[i].Name) // overrides apply whether there are samples or not
	}
	if len(o.Refused) > 0 {
		l.discard, l.state.Absurd = slices.Clone(o.Refused), vertical.StampOf(now)
	}
	for i := range o.Samples {
		l.sample(&o.Samples[i])
	}
	for i := range o.OOMs {
		l.outOfMemory(&o.OOMs[i])
	}
	if known {
		l.dropGone(o)
	}
	return l.state, l.discard
}

// keepsHistory reports whether history is used although the target is unknown.
func (p *Policy) keepsHistory(o *Observation) bool {
	return o.Lookup.Problem != "" && o.Lookup.Transient && p.Has(divergence.KeepHistory)
}

// container returns the container of that name and its policy. The pointer is valid until the next container is added.
func (l *learner) container(name string) (*Container, *usage.Policy) {
	c := l.state.container(name)
	policy := l.policies[name]
	if policy == nil {
		own := vertical.PolicyOf(l.policy.Containers, name)
		if l.lost && !l.policy.Has(divergence.ResetOverrides) {
			own.OOM, own.Memory = vertical.OOMPolicy{}, vertical.MemoryPolicy{} // upstream has lost the object
		}
		under := c.Usage.ApplyOverrides(l.policy.Usage, own)
		policy = &under
		l.policies[name] = policy
	}
	return c, policy
}

func (l *learner) appear(o *Observation) {
	for _, present := range o.Containers {
		// Do not set the policy yet: an override applies to what exists.
		if c := l.state.container(present.Container); !c.Present {
			c.Usage.RecordPresent(l.now)
		}
	}
	for i := range l.state.Containers {
		c := &l.state.Containers[i]
		c.Present = slices.ContainsFunc(o.Containers, func(p Present) bool { return p.Container == c.Name && p.Pods > 0 })
	}
}

// dropGone drops the windows of deleted pods. As upstream does, it also drops the separate part of a checkpoint if the
// target cannot be looked up.
func (l *learner) dropGone(o *Observation) {
	pods := make(map[string]bool, len(o.Pods))
	for _, pod := range o.Pods {
		pods[pod] = true
	}
	for i := range l.state.Containers {
		c := &l.state.Containers[i].Usage
		c.PruneWindows(func(pod string) bool { return pods[pod] })
		if o.Lookup.Problem != "" {
			c.DropInitial()
		}
		c.AlignInitial(&l.policy.Usage)
	}
}

func (l *learner) sample(s *Sample) {
	c, policy := l.container(s.Container)
	for r := range vertical.Resource(vertical.Resources) {
		amount, measured := s.Use.Get(r)
		if !measured {
			continue
		}
		if why := l.policy.Refuse(l.now, r, amount, s.At); why != "" {
			l.reject(Discarded{Pod: s.Pod, Container: s.Container, Resource: r, Why: why})
			continue
		}
		taken := usage.Sample{Pod: s.Pod, At: s.At, Amount: amount}
		if r == vertical.Memory {
			c.Usage.AddMemory(policy, taken, l.now)
			continue
		}
		if l.policy.CountContention {
			taken.Amount = amount.Scale(s.Contention.Factor())
		}
		c.Usage.AddCPU(policy, taken, l.now)
	}
}

func (l *learner) outOfMemory(oom *OOM) {
	why := l.policy.Refuse(l.now, vertical.Memory, max(oom.Request, oom.Limit), oom.At)
	if why != "" && l.policy.Has(divergence.ImplausibleSamples) {
		l.reject(Discarded{Pod: oom.Pod, Container: oom.Container, Resource: vertical.Memory, Why: why})
		return
	}
	c, policy := l.container(oom.Container)
	c.Usage.RecordOOM(policy, oom.OOM, l.now)
}

func (l *learner) reject(d Discarded) {
	l.discard, l.state.Absurd = append(l.discard, d), vertical.StampOf(l.now)
}

// Refuse returns what is wrong with a sample; empty if nothing is. Code that merges samples must check each of them,
// because a sum hides an implausible one.
func (p *Policy) Refuse(now time.Time, r vertical.Resource, amount vertical.Amount, at time.Time) string {
	switch {
	case amount < 0:
		return "negative"
	case !p.Has(divergence.ImplausibleSamples):
		return ""
	case amount > absurd[r]:
		return "more than any machine has"
	case at.After(now.Add(maxAhead)):
		return "from the future"
	}
	return ""
}
